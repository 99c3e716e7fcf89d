"""The same tools over MCP, by the official SDK (extra `mcp`): what answers its requests, whatever carries them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server

from tui_tasks import __version__
from tui_tasks.dialects.base import Table, Tool
from tui_tasks.dialects.requests.confinement import visible_tools
from tui_tasks.mcp_server import asking, prompts, resources
from tui_tasks.mcp_server.asking import Context
from tui_tasks.mcp_server.changes import ResourceSubscriptions
from tui_tasks.mcp_server.conversations import Conversation
from tui_tasks.mcp_server.tools import sizes
from tui_tasks.mcp_server.tools.descriptions import BESIDE, beside, described
from tui_tasks.mcp_server.tools.results import as_data, result_of, text_of
from tui_tasks.mcp_server.tools.wording import instructions, mcp_name

# Seconds between two words to a client whose call waits.
_PROGRESS_SECONDS: Final = 5


class Handlers:
    """Answers MCP's requests; `conversation` tells whose a request is, `structured` whether results are data."""

    def __init__(
        self, conversation: Callable[[], Conversation], changes: ResourceSubscriptions, *, structured: bool
    ) -> None:
        self._conversation = conversation
        self._structured = structured
        self._changes = changes

    # Tools

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        """Every tool that the agent may use."""
        session = self._conversation().session
        shown = visible_tools(session.identity, session.table.tools)
        names = {tool.name for tool in shown}
        return types.ListToolsResult(tools=[described(tool, names, structured=self._structured) for tool in shown])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        """Call a tool."""
        conversation = self._conversation()
        tool = _find(conversation, params.name)
        request = _request(tool, params)
        result = await self._called(conversation, context, params, tool, request)
        if self._structured and tool is not None and isinstance(result, types.CallToolResult):
            return as_data(tool, result)
        return result

    async def _called(
        self,
        conversation: Conversation,
        context: Context,
        params: types.CallToolRequestParams,
        tool: Tool | None,
        request: dict[str, Any],
    ) -> asking.Result:
        if tool is None or not tool.waits:
            return _result(tool, request, await conversation.ask(request))
        result: asking.Result
        async with anyio.create_task_group() as group:
            group.start_soon(_progress, context)
            if tool.name == "ask":
                result = await asking.ask(conversation, context, params, request)
            else:
                result = result_of(await conversation.ask(request))
            group.cancel_scope.cancel()
        return result

    # Resources

    async def list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        """The lists, and the inbox."""
        return types.ListResourcesResult(resources=resources.listed(self._conversation().session))

    async def list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        """How lists and tasks are named."""
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """A list, a task or the inbox."""
        return resources.read(self._conversation().session, str(params.uri))

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell of changes to a resource from now on."""
        self._changes.subscribe(context.session, str(params.uri))
        self._conversation().wake()
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell no more of it."""
        self._changes.unsubscribe(context.session, str(params.uri))
        return types.EmptyResult()

    async def listen(self, context: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        """The same, as later revisions have it."""
        with self._changes.listening():
            self._conversation().wake()
            return await self._changes.listen(context, params)

    # Prompts

    async def list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        """What a person may pick."""
        return types.ListPromptsResult(prompts=prompts.listed())

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """One of those."""
        return prompts.get(params.name)

    # The Tasks extension

    async def get_task(self, context: Context, params: asking.TaskParams) -> dict[str, Any]:
        """How far a question is."""
        return await asking.get_task(self._conversation(), params.task_id)

    async def cancel_task(self, context: Context, params: asking.TaskParams) -> dict[str, Any]:
        """Take a question back."""
        return asking.cancel_task(self._conversation(), params.task_id)

    async def update_task(self, context: Context, params: asking.TaskParams) -> dict[str, Any]:
        """Take note of what nothing was asked for."""
        return {"resultType": "complete"}


async def _progress(context: Context) -> None:
    """Tell a client that wants to know that its call still waits."""
    passed = 0
    while True:
        await anyio.sleep(_PROGRESS_SECONDS)
        passed += _PROGRESS_SECONDS
        await context.session.report_progress(passed, message="Waiting.")


def _find(conversation: Conversation, name: str) -> Tool | None:
    return next((tool for tool in conversation.session.table.tools.values() if mcp_name(tool.name) == name), None)


def _request(tool: Tool | None, params: types.CallToolRequestParams) -> dict[str, Any]:
    """A call as the channel has it."""
    arguments: dict[str, Any] = dict(params.arguments or {})
    meta: dict[str, Any] = dict(params.meta or {})
    others = {key: meta[key] for key in BESIDE if key in meta}
    if tool is not None:
        others |= {key: arguments.pop(key) for key in beside(tool) if key in arguments}
    return {**others, "tool": tool.name if tool else params.name, "arguments": arguments}


def _result(tool: Tool | None, request: dict[str, Any], reply: dict[str, Any]) -> types.CallToolResult:
    """The result of a call that does not wait, no longer than an agent can afford."""
    if tool is None or not reply["ok"]:
        return result_of(reply)
    held = reply["result"]
    if tool.name == "control:hello" and not request["arguments"].get("tools"):
        # `tools/list` has told of them.
        held = {key: value for key, value in held.items() if key != "tools"}
    held, cut = sizes.fitted(tool.name, request["arguments"], held)
    result = result_of({**reply, "result": held})
    if cut:
        result.content.append(text_of(cut))
    return result


def make(
    conversation: Callable[[], Conversation], changes: ResourceSubscriptions, table: Table, *, structured: bool = False
) -> Server[Any]:
    """The SDK's server with all that is offered: the tools of a table, and what goes with them."""
    handlers = Handlers(conversation, changes, structured=structured)
    made: Server[Any] = Server(
        "tui-tasks",
        version=__version__,
        title="tui-tasks",
        instructions=instructions(table.tools),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=handlers.subscribe,
        on_unsubscribe_resource=handlers.unsubscribe,
        on_subscriptions_listen=handlers.listen,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    made.extensions[asking.TASKS] = {}
    made.add_request_handler("tasks/get", asking.TaskParams, handlers.get_task)
    made.add_request_handler("tasks/cancel", asking.TaskParams, handlers.cancel_task)
    made.add_request_handler("tasks/update", asking.TaskParams, handlers.update_task)
    return made

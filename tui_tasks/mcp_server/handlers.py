"""The MCP server: the handlers of requests for the official SDK (extra `mcp`), for either transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server

from tui_tasks import __version__
from tui_tasks.dialects.requests.confinement import visible_tools
from tui_tasks.dialects.tool_table import Table, Tool
from tui_tasks.mcp_server import asking, resources, results
from tui_tasks.mcp_server.asking import Context
from tui_tasks.mcp_server.async_sessions import AsyncSession
from tui_tasks.mcp_server.resources import ResourceSubscriptions
from tui_tasks.mcp_server.results import as_data, result_of, text_of
from tui_tasks.mcp_server.tool_listing import ENVELOPE_ARGUMENTS, envelope_arguments, instructions, mcp_name, mcp_tools

# Seconds between progress notifications to a client whose call waits.
_PROGRESS_SECONDS: Final = 5


class Handlers:
    """The handlers of MCP requests.

    Args:
        agent_session: returns the session of the current request's agent.
        changes: the subscriptions to resources.
        structured: whether results are structured content.
    """

    def __init__(
        self, agent_session: Callable[[], AsyncSession], changes: ResourceSubscriptions, *, structured: bool
    ) -> None:
        self._agent_session = agent_session
        self._structured = structured
        self._changes = changes

    # Tools

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:
        """Return the tools that the agent may use."""
        session = self._agent_session().session
        visible = visible_tools(session.identity, session.table.tools)
        return types.ListToolsResult(tools=mcp_tools(visible, structured=self._structured))

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        """Call a tool; return its result."""
        agent_session = self._agent_session()
        agent_session.serve(_client_sessions(params))
        tool = _find(agent_session, params.name)
        request = _request(tool, params)
        result = await self._call(agent_session, context, params, tool, request)
        if self._structured and tool is not None and isinstance(result, types.CallToolResult):
            return as_data(tool, result)
        return result

    async def _call(
        self,
        agent_session: AsyncSession,
        context: Context,
        params: types.CallToolRequestParams,
        tool: Tool | None,
        request: dict[str, Any],
    ) -> asking.Result:
        if tool is None or not tool.waits:
            return _result(tool, request, await agent_session.ask(request))
        result: asking.Result
        async with anyio.create_task_group() as group:
            group.start_soon(_progress, context)
            if tool.name == "ask":
                result = await asking.ask(agent_session, context, params, request)
            else:
                result = result_of(await agent_session.ask(request))
            group.cancel_scope.cancel()
        return result

    # Resources

    async def list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        """Return the lists and the inbox."""
        return types.ListResourcesResult(resources=resources.all_resources(self._agent_session().session))

    async def list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        """Return the URI templates of lists and tasks."""
        return types.ListResourceTemplatesResult(resource_templates=resources.all_templates())

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a list, a task or the inbox."""
        return resources.read(self._agent_session().session, str(params.uri))

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Subscribe the client to a resource."""
        self._changes.subscribe(context.session, str(params.uri))
        self._agent_session().wake()
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """End the client's subscription to a resource."""
        self._changes.unsubscribe(context.session, str(params.uri))
        return types.EmptyResult()

    async def listen(self, context: Context, params: types.SubscriptionsListenRequestParams) -> Any:
        """Serve `subscriptions/listen`, which replaces `resources/subscribe` in later revisions."""
        with self._changes.listening():
            self._agent_session().wake()
            return await self._changes.listen(context, params)

    # Prompts

    async def list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        """Return the prompts that a person may pick."""
        return types.ListPromptsResult(prompts=resources.all_prompts())

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return a prompt."""
        return resources.get(params.name)

    # The Tasks extension

    async def get_task(self, context: Context, params: asking.TaskParams) -> dict[str, Any]:
        """Return the state of a question."""
        return await asking.get_task(self._agent_session(), params.task_id)

    async def cancel_task(self, context: Context, params: asking.TaskParams) -> dict[str, Any]:
        """Withdraw a question."""
        return asking.cancel_task(self._agent_session(), params.task_id)

    async def update_task(self, context: Context, params: asking.TaskParams) -> dict[str, Any]:
        """Accept and ignore an update: no question asks for input that way."""
        return {"resultType": "complete"}


async def _progress(context: Context) -> None:
    """Send progress notifications to a client that asked for them while its call waits."""
    passed = 0
    while True:
        await anyio.sleep(_PROGRESS_SECONDS)
        passed += _PROGRESS_SECONDS
        await context.session.report_progress(passed, message="Waiting.")


def _client_sessions(params: types.CallToolRequestParams) -> tuple[str, ...]:
    """Return the ids by which a client names its own session, as Codex does with each call."""
    meta: dict[str, Any] = dict(params.meta or {})
    return tuple(value for key in ("threadId", "sessionId") if isinstance(value := meta.get(key), str))


def _find(agent_session: AsyncSession, name: str) -> Tool | None:
    return next((tool for tool in agent_session.session.table.tools.values() if mcp_name(tool.name) == name), None)


def _request(tool: Tool | None, params: types.CallToolRequestParams) -> dict[str, Any]:
    """Return a call as a request of the channel."""
    arguments: dict[str, Any] = dict(params.arguments or {})
    meta: dict[str, Any] = dict(params.meta or {})
    others = {key: meta[key] for key in ENVELOPE_ARGUMENTS if key in meta}
    if tool is not None:
        given = {key: arguments.pop(key) for key in envelope_arguments(tool) if key in arguments}
        # Clients with strict schemas fill every argument.
        others |= {key: value for key, value in given.items() if value not in (None, "")}
    return {**others, "tool": tool.name if tool else params.name, "arguments": arguments}


def _result(tool: Tool | None, request: dict[str, Any], reply: dict[str, Any]) -> types.CallToolResult:
    """Return the result of a call that does not wait, cut to a length that an agent can afford."""
    if tool is None or not reply["ok"]:
        return result_of(reply)
    held = reply["result"]
    if tool.name == "control:hello" and not request["arguments"].get("tools"):
        # Their schemas are in `tools/list`.
        held = {**held, "tools": [mcp_name(each["name"]) for each in held["tools"]]}
    held, cut = results.truncated(tool.name, request["arguments"], held)
    result = result_of({**reply, "result": held})
    if cut:
        result.content.append(text_of(cut))
    return result


def make_server(
    agent_session: Callable[[], AsyncSession], changes: ResourceSubscriptions, table: Table, *, structured: bool = False
) -> Server[Any]:
    """Return the SDK's server with the tools of a table, resources and prompts."""
    handlers = Handlers(agent_session, changes, structured=structured)
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

"""The forms in which a hook prints the human's answer for its program (docs: protocol, section 10)."""

from typing import Any

from tui_tasks.hooks.replies.forms import Form

# The text that the model reads for a denial without a reason.
_DENIED = "The human denied this."


def formed(program: str, payload: dict[str, Any], decision: dict[str, Any]) -> Form | None:
    """Return the answer to a payload in its program's form; None if the program accepts no such answer.

    Args:
        program: the name of the program.
        payload: the request, as the program sent it.
        decision: for a permission `allow`, with `words` (the reason of a denial), `always` (the index of the chosen
            suggestion of the program, or None) and `updated_input` (the edited input of the tool, or None); for
            questions `answer`, the human's whole text, and `lines`, its lines that are not blank.
    """
    if "answer" in decision:
        return _question_form(program, payload, decision)
    if program == "opencode":
        reply: Form = {"id": _own_id(payload), "reply": _opencode_reply(decision)}
        return {"permission": reply if decision["allow"] else reply | {"message": decision["words"] or _DENIED}}
    if program == "gemini":
        return None
    if not decision["allow"]:
        return _permission_form({"behavior": "deny", "message": decision["words"] or _DENIED})
    said: Form = {"behavior": "allow"}
    if program == "claude" and decision.get("updated_input") is not None:
        said["updatedInput"] = decision["updated_input"]
    if program == "claude" and decision.get("always") is not None:
        said["updatedPermissions"] = [payload["permission_suggestions"][decision["always"]]]
    return _permission_form(said)


def _permission_form(said: Form) -> Form:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": said}}


def _opencode_reply(decision: dict[str, Any]) -> str:
    if not decision["allow"]:
        return "reject"
    return "once" if decision.get("always") is None else "always"


def _own_id(payload: dict[str, Any]) -> Any:
    properties = payload.get("properties")
    return properties.get("id") if isinstance(properties, dict) else None


def _question_form(program: str, payload: dict[str, Any], decision: dict[str, Any]) -> Form | None:
    place = payload.get("properties" if program == "opencode" else "tool_input")
    questions = place.get("questions") if isinstance(place, dict) else None
    questions = questions if isinstance(questions, list) else []
    several = len(questions) > 1 and len(decision["lines"]) == len(questions)
    # Unless each of several questions has a line, each gets the whole text.
    given = decision["lines"] if several else [decision["answer"]] * len(questions)
    if program == "opencode":
        return {"question": {"id": _own_id(payload), "answers": [[text] for text in given]}}
    asked = [question.get("question", "") if isinstance(question, dict) else "" for question in questions]
    by_question = dict(zip(asked, given, strict=True))
    if program == "claude":
        return _permission_form({"behavior": "allow", "updatedInput": {**(place or {}), "answers": by_question}})
    if program == "gemini":
        told = "; ".join(f"{question} {text}" for question, text in by_question.items())
        return {"decision": "deny", "reason": f"The human has answered already: {told}"}
    return None

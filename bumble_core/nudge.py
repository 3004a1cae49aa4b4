"""What the tail of a request says about the step before it. It is nowhere else: the next tail says something new.

Pure: the text follows from the turn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from .types.inference import ToolSpec
from .types.messages import ToolCall
from .types.turn import TurnContext

_MOST_TOLD = 3  # these two numbers are those of Bumblebee's Cognition page
_TOLD_CHARS = 80
_CUTS = 3  # so many in a row, and the model is told to write in pieces (Bumblebee's Cognition page)
_WRITER = "write_file"
_SHORTEST_PIECE = 200
_CHARS_PER_TOKEN = 4


def note(turn: TurnContext, tools: Sequence[ToolSpec]) -> str:
    """Return what the model is told before its next step, or nothing."""
    texts = (_after_tools(turn), _after_cut(turn, tools), _on_last_step(turn), turn.nudge)
    return "\n".join(text for text in texts if text)


def piece_chars(turn: TurnContext) -> int:
    """Return how many characters of what the model writes fit its reply twice, by the reply that was cut.

    So the piece fits whatever its script; the other half is for the call around it and for thought.
    """
    message = turn.last.message if turn.last else None
    written = len(message.text) + sum(map(_written, message.tool_calls)) if message else 0
    fitting = written or turn.route.profile.max_tokens * _CHARS_PER_TOKEN // 2
    return max(_SHORTEST_PIECE, fitting // 2 // 100 * 100)


def _after_tools(turn: TurnContext) -> str:
    results = turn.last_results
    if not results:
        return ""
    failed = ", ".join(dict.fromkeys(f"`{_short(each.name)}`" for each in results if each.status != "ok"))
    told = "; ".join(json.dumps(_short(text), ensure_ascii=False) for text in turn.said[-_MOST_TOLD:])
    if turn.speaks_in_messages and turn.only_spoke:
        hint = (
            "Words that you write without a tool are not shown to them: tell them more with a tool, or end your turn."
        )
    else:
        hint = "Go on with tools, or answer the user."
    texts = (
        "The results of your calls are above.",
        f"Failed: {failed}." if failed else "",
        f"The user has already been told: {told}." if told else "",
        hint,
    )
    return f"[{' '.join(text for text in texts if text)}]"


def _after_cut(turn: TurnContext, tools: Sequence[ToolSpec]) -> str:
    if not turn.cuts:
        return ""
    if turn.cuts >= _CUTS:
        begin = f"[Your last {turn.cuts} messages were cut at their longest. "
        if any(tool.name == _WRITER for tool in tools) and turn.steps_left > 1:
            how = f"in pieces of at most {piece_chars(turn)} characters, with append=true after the first"
            return f"{begin}Write what is long to a file with `{_WRITER}`, {how}, and tell the user where it is.]"
        return f"{begin}End with a few short sentences.]"
    if turn.is_unfinished and turn.reply.strip():
        return "[Your reply was cut at its longest. Go on exactly where it stops; repeat nothing of it.]"
    return "[Your message was cut at its longest before it was complete. Say less at once.]"


def _on_last_step(turn: TurnContext) -> str:
    if turn.step == 0 or turn.steps_left > 1:
        return ""
    return "[This is your last step, and you can call no tool in it. Tell the user what is done and what is not.]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TOLD_CHARS else f"{line[: _TOLD_CHARS - 1]}…"


def _written(call: ToolCall) -> int:
    return len(call.raw) or len(json.dumps(call.arguments, ensure_ascii=False))

"""A conversation: messages made of typed parts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from .base import Value, new_id

Role = Literal["system", "user", "assistant", "tool"]
Source = Literal["user", "model", "tool", "summary", "kernel"]
ResultStatus = Literal["ok", "error", "refused", "timeout", "cancelled", "interrupted"]


class Text(Value):
    kind: Literal["text"] = "text"
    text: str


class Thinking(Value):
    """What a model thought aloud; never shown as its reply."""

    kind: Literal["thinking"] = "thinking"
    text: str


class Image(Value):
    """A picture; `data` is base64 without line breaks."""

    kind: Literal["image"] = "image"
    media_type: str
    data: str


class ToolCall(Value):
    """One request by the model to run a tool.

    `problem` says why the call must not run: arguments that did not parse, a message cut by its length.
    `raw` then keeps the arguments as they came.
    """

    kind: Literal["tool_call"] = "tool_call"
    id: str = Field(default_factory=lambda: new_id("call"))
    name: str
    arguments: dict[str, JsonValue] = {}
    problem: str = ""
    raw: str = ""


class ToolResult(Value):
    """The answer to exactly one `ToolCall`.

    `ends_turn` asks the kernel to consult the judge; it is a request, not a command. `said` is text to put in
    front of the user: the kernel delivers it and replaces `content` by what became of it. `is_work` separates
    deeds from conversation; the kernel sets it from the tool. The model sees `content`. `whole` is all of it where
    that is cut; `diff` is what the call changed, for whoever reviews it. Both are bounded, and kept in the log.
    """

    kind: Literal["tool_result"] = "tool_result"
    call_id: str
    name: str
    content: str
    status: ResultStatus = "ok"
    is_work: bool = True
    ends_turn: bool = False
    said: str = ""
    whole: str = ""
    diff: str = ""
    elapsed_s: float = 0.0


Part = Annotated[Text | Thinking | Image | ToolCall | ToolResult, Field(discriminator="kind")]


class Message(Value):
    """One entry of a conversation. A tool message holds one result; `pinned` keeps it through compaction.

    The text of one that `continues` goes on where the message before it was cut, maybe in the middle of a word.
    """

    id: str = Field(default_factory=lambda: new_id("msg"))
    role: Role
    parts: tuple[Part, ...]
    source: Source
    pinned: bool = False
    continues: bool = False

    @property
    def text(self) -> str:
        return "".join([part.text for part in self.parts if part.kind == "text"])

    @property
    def thinking(self) -> str:
        return "".join([part.text for part in self.parts if part.kind == "thinking"])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.parts if part.kind == "tool_call"])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple([part for part in self.parts if part.kind == "tool_result"])

    @property
    def is_empty(self) -> bool:
        """True when a server would see neither words nor calls."""
        return not self.text.strip() and all(part.kind in ("text", "thinking") for part in self.parts)


def system(text: str) -> Message:
    return Message(id="system", role="system", parts=(Text(text=text),), source="kernel")


def user(text: str, *, source: Source = "user") -> Message:
    return Message(role="user", parts=(Text(text=text),), source=source)


def assistant(text: str, *calls: ToolCall, source: Source = "model") -> Message:
    parts: tuple[Part, ...] = ((Text(text=text),) if text else ()) + calls
    return Message(role="assistant", parts=parts, source=source)


def tool_message(result: ToolResult) -> Message:
    return Message(role="tool", parts=(result,), source="tool")

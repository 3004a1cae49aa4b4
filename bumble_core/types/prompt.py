"""The prompt of one turn: what stands before the history and what stands after it."""

from __future__ import annotations

from dataclasses import dataclass

from .messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPrompt:
    """`head` is the system message, or nothing; `context` goes into the tail of every request of the turn.

    `fingerprint` is the SHA-256 of the system prompt with the tools' declarations, in hex. `rendered` names the system
    sections that were rendered for it; what is not among them was kept.
    """

    head: tuple[Message, ...] = ()
    context: str = ""
    fingerprint: str = ""
    rendered: tuple[str, ...] = ()


NO_PROMPT = CompiledPrompt()

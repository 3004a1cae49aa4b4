"""What passes between the kernel and the place where a person reads and writes."""

from __future__ import annotations

from .base import Value


class Delivery(Value):
    """Whether a text reached the person, and if not, why."""

    delivered: bool
    problem: str = ""


class Question(Value):
    """Something to ask the person; an empty `choices` asks for free text."""

    text: str
    choices: tuple[str, ...] = ()


class Answer(Value):
    """`answered` is False where nobody can be asked; `text` is one of the choices, or free text."""

    answered: bool
    text: str = ""

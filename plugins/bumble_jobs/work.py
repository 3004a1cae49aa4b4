"""What the three jobs share: a question about as many turns as the models can hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from bumble_core import Settings, title_key
from bumble_core.errors import ContextOverflow
from bumble_core.ports import Inference
from bumble_core.types.inference import Profile
from bumble_core.types.jobs import JobView

from .asking import Answer, Question, Shape, ask
from .sections import split
from .transcript import Shown, show

M = TypeVar("M", bound=Shape)

_SHORTEST_REPLY, _LONGEST_REPLY = 128, 1500  # tokens
_SHARE_OF_WINDOW = 4  # a reply takes at most one part in so many
_SMALLER = 3  # times that the record is halved for a model which cannot hold it


def profile(settings: Settings) -> Profile:
    """Return how jobs ask: soberly, and for a reply that leaves room for the record."""
    most = min(_LONGEST_REPLY, max(_SHORTEST_REPLY, settings.cognition.max_context_tokens // _SHARE_OF_WINDOW))
    return Profile(name="job", max_tokens=most, temperature=0.2)


async def ask_about(
    inference: Inference,
    view: JobView,
    question: Callable[[Shown], Question[M]],
    *,
    most_output: int | None = None,
) -> tuple[Shown, Answer[M]]:
    """Return the oldest turns that were shown and the answer about them.

    Raises:
        InferenceError: no model gave a valid answer, or even a small part of the record is too much.
    """
    room = view.room_tokens
    for left in reversed(range(_SMALLER + 1)):
        shown = show(view.turns, room, most_output=most_output)
        try:
            return shown, await ask(inference, view, question(shown))
        except ContextOverflow:
            if not left:
                raise
            room //= 2
    raise AssertionError("the last try answers or raises")


def left_out(text: str, headings: Sequence[str]) -> str:
    """Return which fixed heading a file lacks, locked or not; an empty text when all are there."""
    titles = {title_key(section.title) for section in split(text)}
    missing = [heading for heading in headings if title_key(heading) not in titles]
    return f"the heading `{missing[0]}` is missing" if missing else ""

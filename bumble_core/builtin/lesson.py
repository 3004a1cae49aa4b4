"""What the replies of one request tell about a model's level. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..errors import InferenceError, InvalidRequest, Overloaded
from ..forcing import LEVELS, Level
from ..types.inference import Attempt, Completion, ModelRef
from ..types.messages import Part, Text

MISSES = 2  # replies in words, one after another, where a call was forced: what was learnt no longer holds
_LONGEST_REASON = 200  # characters of a server's words
_REFUSAL = {
    # A tool's invalid schema and a broken history are mistakes: the server may well do calls.
    "native": re.compile(
        r"tool_choice|(?=.*(?:tool|function))(?=.*(?:support|requires|not (?:allowed|permitted|available|implemented)"
        r"|unrecogni[sz]ed|unknown|unexpected|extra|disabled|not enabled))",
        re.IGNORECASE | re.DOTALL,
    ),
    "schema": re.compile(r"response_format|json[_ ]?schema|\bschema\b|grammar|\bformat\b|structured", re.IGNORECASE),
}


@dataclass(slots=True)
class Lesson:
    """From the level that is known, or from native, downwards as the evidence wants.

    `learnt` is what should be remembered; None when nothing new was learnt. `is_open` while the level is being found
    out: then a reply in words may be asked again, once, and is kept as `first`.
    """

    ref: ModelRef
    level: Level
    is_forced: bool
    is_open: bool
    misses: int = 0
    reasons: list[str] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    first: Completion | None = None
    learnt: Level | None = None

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons)

    def takes(self, error: InferenceError) -> bool:
        """Tell whether `error` is the server's refusal of what this level asks of it."""
        wording = _REFUSAL.get(self.level)
        kinds = (InvalidRequest, Overloaded) if self.level == "schema" else (InvalidRequest,)
        return wording is not None and isinstance(error, kinds) and wording.search(str(error)) is not None

    def refused(self, error: InferenceError) -> None:
        """Go one level down because of a refusal."""
        self.attempts += [Attempt(model=self.ref, error=str(each)) for each in (*error.earlier, error)]
        self.reasons.append(f"{self.level}: refused: {str(error)[:_LONGEST_REASON]}")
        self._descend()
        self.learnt = self.level

    def broke_off(self, error: InferenceError) -> Completion | None:
        """Return the reply in words that is at hand when the request that should tell more has failed."""
        self.attempts += [Attempt(model=self.ref, error=str(each)) for each in (*error.earlier, error)]
        return self.first and self._reply(self.first)

    def is_over(self, asked: int, most: int | None) -> bool:
        """Tell whether no more is asked: after `most` requests, or when there are words and both levels are known."""
        has_words = self.first is not None and self.first.message.text != ""
        return asked == most or (has_words and self.level == "prompted")

    def given_up(self) -> Completion | None:
        """Return the reply in words that is at hand, if any; the level that would come next was not tried."""
        self._note("not tried yet")
        return self.first and self._reply(self.first)

    def heard(self, completion: Completion) -> Completion | None:
        """Return the reply, or None when one more request will tell."""
        if not self.is_forced:
            self._note("called by its own choice" if completion.message.tool_calls else "not tried yet")
            return self._reply(completion)
        if completion.message.tool_calls:
            return self._called(completion)
        is_silent = not completion.message.text.strip()
        if is_silent and completion.finish == "stop" and self.is_open and self.level == "native":
            self._ask_again(completion, "with nothing")  # so LM Studio answers what it cannot force
            return None
        if is_silent or completion.finish in ("cut", "filtered"):
            return self._reply(self.first or completion)  # that tells nothing
        return self._worded(completion)

    def _called(self, completion: Completion) -> Completion:
        if self.level == "schema" and completion.message.text:
            self.reasons.append("schema: not kept to: there were words beside the calls")
            self.level = "prompted"
        if self.is_open or self.misses:
            self.learnt, self.misses = self.level, 0
            self._note("replied with a call")
        return self._reply(completion)

    def _worded(self, completion: Completion) -> Completion | None:
        if self.level == "text":
            return self._reply(completion)
        if self.is_open and self.level == "native":
            self._ask_again(completion, "in words")
            return None
        self.reasons.append(f"{self.level}: replied in words where a call was forced")
        if not self.is_open:
            self.misses += 1
            self.learnt = "text" if self.level == "prompted" and self.misses >= MISSES else self.level
            return self._reply(completion)
        self.learnt = "text"
        return self._reply(self.first or completion)

    def _ask_again(self, completion: Completion, how: str) -> None:
        """Keep a reply with no call in it, and go one level down."""
        said = f"replied {how} where a call was forced"
        self.first = completion
        self.attempts.append(Attempt(model=self.ref, error=f"{said}; asked again"))
        self.reasons.append(f"{self.level}: {said}")
        self._descend()

    def _reply(self, completion: Completion) -> Completion:
        """Return `completion` with all that was spent and said on the way to it."""
        first = self.first
        usage, parts = completion.usage, completion.message.parts
        attempts = tuple(self.attempts) + completion.failed_attempts
        if first is not None and first is not completion:
            apart = "\n\n" if completion.message.text else ""
            said: tuple[Part, ...] = (Text(text=first.message.text + apart),) if first.message.text else ()
            usage, parts = first.usage + usage, said + parts
            attempts = first.failed_attempts + attempts
        message = completion.message.model_copy(update={"parts": parts})
        return completion.model_copy(update={"message": message, "usage": usage, "failed_attempts": attempts})

    def _descend(self) -> None:
        self.level = LEVELS[LEVELS.index(self.level) + 1]
        self.is_open, self.misses = True, 0

    def _note(self, what: str) -> None:
        self.reasons.append(f"{self.level}: {what}")

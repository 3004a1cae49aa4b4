"""What has become of one request on its way through the fallback order. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import AllModelsFailed, ContextOverflow, InferenceError
from ..ports import Provider
from ..types.inference import Attempt, Completion, ModelRef, Request
from .circuits import Circuit

_UNHEARD = ("route", "judge", "compact", "probe", "job")  # purposes whose words nobody reads while they come


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model of the order and who runs it; `is_first` is the model that the request is meant for."""

    wanted: ModelRef
    ref: ModelRef
    provider: Provider
    circuit: Circuit
    is_first: bool


@dataclass(slots=True)
class Walk:
    """`failed` has every model that did not answer, passed over or asked; `empty` is a reply that says nothing."""

    request: Request
    failed: list[tuple[ModelRef, InferenceError]] = field(default_factory=list)
    passed_over: list[Candidate] = field(default_factory=list)
    empty: Completion | None = None
    is_asked: bool = False
    is_answered: bool = False

    @property
    def is_heard(self) -> bool:
        """Tell whether words are read while they come."""
        return self.request.purpose not in _UNHEARD

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every failure in order, with those that a provider mended or gave up on by itself."""
        return tuple(
            Attempt(model=ref, error=str(each)) for ref, error in self.failed for each in (*error.earlier, error)
        )

    @property
    def soonest(self) -> Candidate | None:
        """The model that its circuit lets through before all others."""
        return min(self.passed_over, key=lambda candidate: candidate.circuit.left_s, default=None)

    def answered(self, completion: Completion) -> Completion:
        """Return `completion` with the failures before it."""
        self.is_answered = True
        return completion.model_copy(update={"failed_attempts": self.attempts + completion.failed_attempts})

    def broken_off(self, error: InferenceError, said: str) -> InferenceError:
        """Return the failure of a reply whose beginning was heard: nobody else may be asked."""
        error.partial = said
        error.is_retryable = False
        error.earlier = (*(each for _, each in self.failed), *error.earlier)
        return error

    def failure(self) -> InferenceError:
        """Return the error for a request that nobody answered.

        Where a model that was not meant first cannot hold the request, that is what its caller can mend.
        """
        if len(self.failed) == 1:
            return self.failed[0][1]
        pairs = tuple((str(ref), error) for ref, error in self.failed)
        overflows = [error for _, error in self.failed if isinstance(error, ContextOverflow)]
        if not overflows:
            return AllModelsFailed(pairs)
        windows = [error.window for error in overflows if error.window]
        overflow = ContextOverflow(str(AllModelsFailed(pairs)), max(windows, default=None))
        overflow.earlier = tuple(error for _, error in self.failed)
        return overflow

"""Every error that the kernel raises on purpose.

BumbleError
├── AssemblyError              the runtime could not be built; nothing has run
│   ├── ConfigError            the configuration file or a plugin's section is wrong
│   ├── HomeError              the home folder cannot be used
│   ├── PluginError            a plugin cannot be found, imported, constructed or registered
│   └── StageConflictError     two plugins claim one slot and nothing settles it
└── RunError                   something failed while a turn or a job ran
    ├── InferenceError         a model did not answer; the subclasses say what a caller can do about it
    │   ├── AuthenticationError    the server refused the key
    │   ├── RateLimited            ask again later; `retry_after_s` when the server said when
    │   ├── Overloaded             the server has a fault or is too busy; ask again or ask another
    │   ├── ContextOverflow        the request does not fit; `window` in tokens when the server said so
    │   ├── Filtered               the server refused the content
    │   ├── InvalidRequest         the server does not accept the request; asking again changes nothing
    │   ├── Unreachable            no connection
    │   ├── TimedOut               no answer in time; `phase` is connect, first_byte, between_bytes or whole
    │   ├── MalformedReply         the answer cannot be understood
    │   ├── ReplyCut               the connection was lost before the server said that its answer had ended
    │   ├── ModelMissing           the model or its engine is not installed; the message has the command
    │   ├── BudgetSpent            the turn may make no more calls of this purpose
    │   └── AllModelsFailed        each model of the order failed; `attempts` has every error
    ├── ToolError              a tool refused its arguments or failed; the model reads the message
    ├── SessionBusy            another turn holds the session
    ├── VersionConflict        a document is no longer the version that was read
    ├── DocumentError          a document is not text, is not kept any more, or could not be read or written
    └── ContractError          a plugin returned what its port forbids
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import override


class BumbleError(Exception):
    """Base class; `except BumbleError` catches all of the above and nothing else."""


class AssemblyError(BumbleError):
    """The runtime could not be built."""


class ConfigError(AssemblyError):
    """A configuration value is missing, misspelt or out of range."""


class HomeError(AssemblyError):
    """The home folder cannot be used."""


class PluginError(AssemblyError):
    """A plugin cannot be found, imported, constructed or registered; `remedy` says what mends it."""

    def __init__(self, plugin: str, reason: str, remedy: str = "") -> None:
        super().__init__(f"plugin `{plugin}`: {reason}" + (f" ({remedy})" if remedy else ""))
        self.plugin = plugin
        self.reason = reason
        self.remedy = remedy


class StageConflictError(AssemblyError):
    """Two plugins of equal rank claim one slot."""

    def __init__(self, stage: str, claimants: tuple[str, ...]) -> None:
        names = " and ".join(f"`{name}`" for name in claimants)
        super().__init__(f"{names} both provide `{stage}`; choose one with `stages: {{{stage}: NAME}}`")
        self.stage = stage
        self.claimants = claimants


class RunError(BumbleError):
    """Something failed while a turn or a job ran."""


class InferenceError(RunError):
    """A model did not answer.

    `is_retryable` says whether the same request may help later. `earlier` are the failures of the same request
    before this one. `partial` is what the model had said when it failed: somebody may have read it, so nobody was
    asked again.
    """

    is_retryable = False
    earlier: tuple[InferenceError, ...] = ()
    partial: str = ""

    @override
    def __str__(self) -> str:
        said = f"; the reply broke off after {len(self.partial):,} characters" if self.partial else ""
        return f"{super().__str__()}{said}"


class AuthenticationError(InferenceError):
    """The server refused the key."""


class RateLimited(InferenceError):
    """Too many requests for now."""

    is_retryable = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Overloaded(InferenceError):
    """The server has a fault or is too busy."""

    is_retryable = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ContextOverflow(InferenceError):
    """The request does not fit the model's window."""

    def __init__(self, message: str, window: int | None = None) -> None:
        super().__init__(message)
        self.window = window


class Filtered(InferenceError):
    """The server refused the content."""


class InvalidRequest(InferenceError):
    """The server does not accept the request."""


class Unreachable(InferenceError):
    """No connection."""

    is_retryable = True


class TimedOut(InferenceError):
    """No answer in time."""

    is_retryable = True

    def __init__(self, message: str, phase: Literal["connect", "first_byte", "between_bytes", "whole"]) -> None:
        super().__init__(message)
        self.phase = phase


class MalformedReply(InferenceError):
    """The answer cannot be understood."""


class ReplyCut(InferenceError):
    """The connection was lost before the server said that its answer had ended."""

    is_retryable = True


class ModelMissing(InferenceError):
    """The model or its engine is not installed; the message has the command that gets it."""


class BudgetSpent(InferenceError):
    """The turn may make no more calls of this purpose."""


class AllModelsFailed(InferenceError):
    """Each model of the order failed; `attempts` pairs every model with its error."""

    def __init__(self, attempts: tuple[tuple[str, InferenceError], ...]) -> None:
        super().__init__("; ".join(f"{model}: {error}" for model, error in attempts))
        self.attempts = attempts


class ToolError(RunError):
    """A tool refused its arguments or failed; the text is shown to the model."""


class SessionBusy(RunError):
    """Another turn holds the session."""


class VersionConflict(RunError):
    """A document is no longer the version that was read."""


class DocumentError(RunError):
    """A document is not text, is not kept any more, or could not be read or written."""


class ContractError(RunError):
    """A plugin returned something that its port forbids."""

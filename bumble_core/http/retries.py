"""Ask again when that may help: not after a word was heard, not longer than is worth it."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import structlog

from ..errors import InferenceError, Overloaded, RateLimited
from ..ports import Clock
from ..types.http import HttpSettings
from ..types.inference import Attempt, Completion, Delta, ModelRef

log = structlog.get_logger(__name__)


def pause_s(error: InferenceError, attempt: int, settings: HttpSettings, chance: float) -> float | None:
    """Return how long to wait after the failed `attempt`, counted from 1; None when asking again is not worth it.

    What the server asks for is kept to, and beyond `retry_max_s` means giving up at once. `chance` is between 0 and
    1 and lengthens the pause, so that many clients do not come back together.
    """
    if not error.is_retryable or attempt >= settings.retry_attempts:
        return None
    asked = error.retry_after_s if isinstance(error, RateLimited | Overloaded) else None
    if asked is not None and asked > settings.retry_max_s:
        return None
    backoff = min(settings.retry_base_s * 2.0 ** (attempt - 1), settings.retry_max_s)
    return (asked or backoff) * (1 + settings.retry_jitter * chance)


async def with_retries(
    ask: Callable[[float], AsyncGenerator[Delta | Completion, None]],
    model: ModelRef,
    settings: HttpSettings,
    clock: Clock,
) -> AsyncGenerator[Delta | Completion, None]:
    """Yield what the first successful attempt yields; the failures before it travel with the completion.

    `ask` is told the moment, on `clock.monotonic`, at which all attempts must be over.

    Raises:
        InferenceError: the last failure; `earlier` has those before it. After a delta it is not retryable any more.
    """
    deadline = clock.monotonic() + settings.timeout_s
    earlier: list[InferenceError] = []
    while True:
        heard = False
        try:
            async with aclosing(ask(deadline)) as items:
                async for item in items:
                    heard = True
                    yield _with_attempts(item, model, earlier) if isinstance(item, Completion) else item
        except InferenceError as error:
            error.earlier = tuple(earlier)
            if heard:
                error.is_retryable = False
            wait = pause_s(error, len(earlier) + 1, settings, random.random())  # noqa: S311
            if wait is None or clock.monotonic() + wait >= deadline:
                raise
            log.warning("request.retried", model=str(model), attempt=len(earlier) + 1, wait_s=wait, problem=str(error))
            earlier.append(error)
        else:
            return
        await clock.sleep(wait)


def _with_attempts(completion: Completion, model: ModelRef, earlier: list[InferenceError]) -> Completion:
    if not earlier:
        return completion
    attempts = tuple(Attempt(model=model, error=str(error)) for error in earlier)
    return completion.model_copy(update={"failed_attempts": attempts + completion.failed_attempts})

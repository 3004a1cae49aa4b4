"""Let a turn go before a background run where a model can answer only one of them at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import aclosing, contextmanager, suppress

import structlog
from typing_extensions import override

from ..ports import Addressed, Exclusive, Provider
from ..types.inference import Completion, Delta, ModelInfo, Request

log = structlog.get_logger(__name__)

_LONGEST_WAIT_S = 1.0  # a turn waits so long for a request that was told to stop


class Courtesy:
    """Knows the runs that are under way and how each is stopped; one that was stopped has `given_way`."""

    def __init__(self) -> None:
        self._stops: dict[str, Callable[[], object]] = {}
        self._stopped: set[str] = set()

    @contextmanager
    def running(self, run_id: str, stop: Callable[[], object]) -> Generator[None, None, None]:
        self._stops[run_id] = stop
        try:
            yield
        finally:
            del self._stops[run_id]

    def is_run(self, owner: str) -> bool:
        return owner in self._stops

    def stop(self, owner: str) -> None:
        if (stop := self._stops.get(owner)) is not None:
            log.info("job.gave_way", run_id=owner)
            self._stopped.add(owner)
            stop()

    def given_way(self, run_id: str) -> bool:
        """Tell whether the run was stopped for a turn; asked once, when it has ended."""
        was_stopped = run_id in self._stopped
        self._stopped.discard(run_id)
        return was_stopped

    def around(self, providers: Mapping[str, Provider]) -> dict[str, Provider]:
        """Return the providers, with the exclusive ones made to serve turns first."""
        return {name: self._around(provider) for name, provider in providers.items()}

    def _around(self, provider: Provider) -> Provider:
        if not isinstance(provider, Exclusive):
            return provider
        return _AddressedQueue(provider, self) if isinstance(provider, Addressed) else _Queue(provider, self)


class _Queue:
    """A provider whose models answer one request at a time: those of runs stop when one of a turn comes."""

    def __init__(self, inner: Provider, courtesy: Courtesy) -> None:
        self.inner = inner
        self._courtesy = courtesy
        self._turns: Counter[str] = Counter()  # requests of turns by model
        self._runs: dict[str, set[str]] = {}  # runs with a request by model
        self._changed = asyncio.Condition()  # guards both, between the requests of one model

    @property
    def name(self) -> str:
        return self.inner.name

    async def models(self) -> tuple[ModelInfo, ...]:
        return await self.inner.models()

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        enter, leave = (
            (self._run_enters, self._run_leaves)
            if self._courtesy.is_run(request.owner)
            else (self._turn_enters, self._turn_leaves)
        )
        await enter(request.owner, model)
        try:
            async with aclosing(self.inner.stream(request, model)) as items:
                async for item in items:
                    yield item
        finally:
            leave(request.owner, model)
            async with self._changed:
                self._changed.notify_all()

    async def _run_enters(self, owner: str, model: str) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._turns[model])
            self._runs.setdefault(model, set()).add(owner)

    def _run_leaves(self, owner: str, model: str) -> None:
        self._runs[model].discard(owner)

    async def _turn_enters(self, owner: str, model: str) -> None:
        self._turns[model] += 1
        try:
            for run in tuple(self._runs.get(model, ())):
                self._courtesy.stop(run)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_WAIT_S), self._changed:
                    await self._changed.wait_for(lambda: not self._runs.get(model))
        except BaseException:
            self._turns[model] -= 1
            raise

    def _turn_leaves(self, owner: str, model: str) -> None:
        self._turns[model] -= 1


class _AddressedQueue(_Queue):
    @property
    def address(self) -> str:
        return self.inner.address if isinstance(self.inner, Addressed) else ""

    @override
    async def models(self) -> tuple[ModelInfo, ...]:
        return await self.inner.models()

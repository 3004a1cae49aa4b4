"""Walk the fallback order until one model answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import structlog

from ..errors import AllModelsFailed, ContextOverflow, InferenceError, MalformedReply, ModelMissing, Unreachable
from ..ports import Provider
from ..types.inference import Attempt, Completion, Delta, ModelRef, Request

log = structlog.get_logger(__name__)

_LIST_TIMEOUT_S = 5.0  # a provider that does not list its models in this time does not resolve a bare name


class FallbackInference:
    """Asks the models of a request in order; none after text was streamed, for it would be said twice."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = providers
        self._resolved: dict[str, ModelRef] = {}

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        """Yield the first model's answer that comes; the failures before it travel with its completion.

        Raises:
            ContextOverflow: the request does not fit.
            AllModelsFailed: no model answered; `attempts` has each one's error.
        """
        failed: list[tuple[ModelRef, InferenceError]] = []
        for wanted in request.models:
            has_text = False
            try:
                model = await self._resolve(wanted)
                async with aclosing(self._ask(request, model)) as stream:
                    async for item in stream:
                        if isinstance(item, Completion):
                            attempts = tuple(Attempt(model=ref, error=str(error)) for ref, error in failed)
                            yield item.model_copy(update={"failed_attempts": attempts + item.failed_attempts})
                            return
                        has_text = has_text or bool(item.text)
                        yield item
            except ContextOverflow:
                raise
            except Exception as error:
                failure = error if isinstance(error, InferenceError) else _failure(wanted, error)
                log.warning("inference.attempt_failed", model=str(wanted), purpose=request.purpose, error=str(failure))
                failed.append((wanted, failure))
                if has_text:
                    break
        if len(failed) == 1:
            raise failed[0][1]
        raise AllModelsFailed(tuple((str(ref), error) for ref, error in failed))

    async def _ask(self, request: Request, ref: ModelRef) -> AsyncGenerator[Delta | Completion, None]:
        provider = self._provider(ref)
        async with aclosing(provider.stream(request, ref.model)) as stream:
            async for item in stream:
                if isinstance(item, Completion) and item.finish == "cut":
                    raise Unreachable(f"`{ref}`: the connection was lost before the reply ended")
                yield item
                if isinstance(item, Completion):
                    return
        raise MalformedReply(f"provider `{ref.provider}` ended its stream without a completion")

    def _provider(self, ref: ModelRef) -> Provider:
        name = ref.provider or ""
        if name not in self._providers:
            known = ", ".join(f"`{name}`" for name in self._providers) or "none"
            hint = f"; write `PROVIDER:{ref}` if the colon is part of the model's name" if ":" not in ref.model else ""
            raise ModelMissing(f"`{ref}`: no provider `{name}`; installed: {known}{hint}")
        return self._providers[name]

    async def _resolve(self, wanted: ModelRef) -> ModelRef:
        """Find the provider of a bare name: the first, in order, that lists it; remembered."""
        if wanted.provider is not None:
            return wanted
        if wanted.model not in self._resolved:
            for name, provider in self._providers.items():
                if wanted.model in await _listed(provider):
                    self._resolved[wanted.model] = ModelRef(provider=name, model=wanted.model)
                    break
            else:
                raise ModelMissing(
                    f"no provider lists `{wanted.model}`; see `bumble models`, or write `PROVIDER:MODEL`"
                )
        return self._resolved[wanted.model]


def _failure(ref: ModelRef, error: Exception) -> InferenceError:
    """Return what a provider raised against its port as the failure of one model: the next may answer."""
    failure = InferenceError(f"`{ref}`: its provider raised {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


async def _listed(provider: Provider) -> set[str]:
    try:
        async with asyncio.timeout(_LIST_TIMEOUT_S):
            return {info.ref.model for info in await provider.models()}
    except Exception as error:  # a provider that does not list its models is passed over
        log.debug("inference.provider_lists_nothing", provider=provider.name, error=f"{type(error).__name__}: {error}")
        return set()

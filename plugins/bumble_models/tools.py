"""The four tools about models."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bumble_core import InferenceError, ToolError, tool
from bumble_core.ports import ModelChoices, Provider, Tool
from bumble_core.types.inference import ModelInfo, ModelRef
from bumble_core.types.jobs import JobSpec
from bumble_core.types.settings import Settings

_WAIT_S = 5.0
_MOST_LISTED = 50
_CONVERSATION = "interactive"


@dataclass(frozen=True, slots=True)
class _Listing:
    models: tuple[ModelInfo, ...] = ()
    problem: str = ""


def model_tools(
    providers: Mapping[str, Provider], choices: ModelChoices, jobs: Sequence[JobSpec], settings: Settings
) -> list[Tool]:
    """Return the tools; `jobs` are those for which models can be chosen."""
    kept = {job.id for job in jobs}

    async def list_providers() -> list[dict[str, object]]:
        """List the providers of models: how many models each has, or why it does not answer."""
        return [
            {"provider": name, "models": len(found.models), **({"problem": found.problem} if found.problem else {})}
            for name, found in (await _all(providers)).items()
        ]

    async def list_models(provider: str = "", search: str = "") -> dict[str, object]:
        """List models that can be asked. `provider` and `search` narrow the list."""
        if provider:
            _check_provider(provider, providers)
        listed = await _all({name: each for name, each in providers.items() if provider in ("", name)})
        infos = [
            info for found in listed.values() for info in found.models if search.casefold() in str(info.ref).casefold()
        ]
        shown = [{"model": str(info.ref), "context_window": info.context_window} for info in infos[:_MOST_LISTED]]
        problems = {name: found.problem for name, found in listed.items() if found.problem}
        in_use = [str(model) for model in choices.chosen(_CONVERSATION) or settings.agent.models]
        return {"in_use": in_use, "total": len(infos), "models": shown, "problems": problems}

    async def switch_model(provider: str, model: str) -> str:
        """Have another model answer this user from the next turn on; it stays so after a restart."""
        ref = await _chosen(provider, model, providers)
        await choices.choose(_CONVERSATION, (ref,))
        return f"`{ref}` answers from the next turn on"

    async def switch_cognition_model(job_type: str, provider: str = "", model: str = "") -> str:
        """Have another model do a background job from its next run on. Without provider and model: as configured."""
        if job_type not in kept:
            raise ToolError(
                f"there is no job `{job_type}`{_near(job_type, kept)}; there are: {', '.join(sorted(kept))}"
            )
        if not provider and not model:
            await choices.choose(job_type, ())
            return f"`{job_type}` uses the models of the configuration from its next run on"
        ref = await _chosen(provider, model, providers)
        await choices.choose(job_type, (ref,))
        return f"`{job_type}` uses `{ref}` from its next run on"

    return [
        tool(list_providers),
        tool(list_models),
        tool(switch_model, asks_first=True),
        tool(switch_cognition_model, asks_first=True),
    ]


async def _chosen(provider: str, model: str, providers: Mapping[str, Provider]) -> ModelRef:
    """Return the full name of a model that its provider lists, or of one whose provider lists nothing."""
    _check_provider(provider, providers)
    if not model.strip():
        raise ToolError("`model` is empty; nothing was changed")
    ref = ModelRef(provider=provider, model=model.strip())
    listed = [info.ref.model for info in (await _listing(providers[provider])).models]
    if listed and ref.model not in listed:
        raise ToolError(f"`{provider}` has no model `{ref.model}`{_near(ref.model, listed)}; nothing was changed")
    return ref


def _check_provider(name: str, providers: Mapping[str, Provider]) -> None:
    if name not in providers:
        raise ToolError(f"there is no provider `{name}`{_near(name, providers)}; there are: {', '.join(providers)}")


async def _all(providers: Mapping[str, Provider]) -> dict[str, _Listing]:
    found = await asyncio.gather(*(_listing(each) for each in providers.values()))
    return dict(zip(providers, found, strict=True))


async def _listing(provider: Provider) -> _Listing:
    try:
        async with asyncio.timeout(_WAIT_S):
            return _Listing(await provider.models())
    except TimeoutError:
        return _Listing(problem=f"no answer within {_WAIT_S:g} s")
    except InferenceError as error:
        return _Listing(problem=str(error))
    except Exception as error:  # a provider may be anyone's; the others are still worth listing
        return _Listing(problem=f"{type(error).__name__}: {error}")


def _near(name: str, known: Mapping[str, object] | Sequence[str] | set[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean `{near[0]}`?" if near else ""

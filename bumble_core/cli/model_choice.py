"""What `/model` in a chat does: show the models in use, and choose others that survive a restart."""

from __future__ import annotations

import difflib

from ..errors import RunError
from ..runtime import Runtime
from ..types.inference import ModelRef
from .listing import Listed, list_models

_ROLE = "interactive"
_WAIT_S = 2.0
_DEFAULT = "default"


async def chosen_models(runtime: Runtime, given: tuple[ModelRef, ...]) -> str:
    """Return lines that name the models in use, who chose them, and what else can be asked."""
    if given:
        models, reason = given, "for this chat"
    elif chosen := runtime.choices.chosen(_ROLE):
        models, reason = chosen, "chosen with /model"
    else:
        models, reason = runtime.settings.agent.models, "from the configuration"
    lines = [f"In use: {_names(models)} ({reason})" if models else "In use: none yet; the first that is found"]
    for listed in await list_models(runtime.providers, _WAIT_S):
        offered = ", ".join(str(model.ref) for model in listed.models)
        lines.append(f"{listed.provider}: {offered or listed.problem or 'no models'}")
    return "\n".join(lines)


async def choose(runtime: Runtime, names: list[str]) -> str:
    """Keep the named models as the user's choice and return what to tell; `default` drops the choice.

    Where the first name is that of a background job, the choice is for that job; nothing after it tells what it asks.

    Raises:
        RunError: a name cannot be read, or there is no such provider; the former choice stays.
    """
    if names[0] in runtime.parts.execute.specs:
        return await _choose_for_job(runtime, names[0], names[1:])
    if names == [_DEFAULT]:
        await runtime.choices.choose(_ROLE, ())
        return f"In use: {_names(runtime.settings.agent.models) or 'the first model that is found'}"
    models = tuple(_read(name, runtime) for name in names)
    doubts = [doubt for model in models if (doubt := _doubt(model, await list_models(runtime.providers, _WAIT_S)))]
    await runtime.choices.choose(_ROLE, models)
    return "\n".join([f"In use from now on: {_names(models)}", *doubts])


async def _choose_for_job(runtime: Runtime, job: str, names: list[str]) -> str:
    if not names:
        return _told(runtime, job)
    models = () if names == [_DEFAULT] else tuple(_read(name, runtime) for name in names)
    return await switch_models(runtime, models, job)


def models_in_use(runtime: Runtime) -> list[tuple[str, list[str], str]]:
    """Return for the conversation and for each job: its name, its models in their order, and who named them."""
    models = runtime.parts.execute.models
    of_conversation, origin = models.of_conversation()
    rows = [("conversation", _list(of_conversation), origin)]
    for id, spec in runtime.parts.execute.specs.items():
        of_job, origin = models.with_origin(spec)
        rows.append((id, _list(of_job), origin))
    return rows


async def switch_models(runtime: Runtime, models: tuple[ModelRef, ...], job: str | None) -> str:
    """Keep `models` as the user's choice for a job, or for the conversation, and return what to tell.

    Raises:
        RunError: there is no such job or provider; the former choice stays.
    """
    jobs = runtime.parts.execute.specs
    if job is not None and job not in jobs:
        near = difflib.get_close_matches(job, jobs, n=1)
        advice = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(jobs)}"
        raise RunError(f"there is no job `{job}`; {advice}")
    models = tuple(_checked(model, runtime) for model in models)
    listing = await list_models(runtime.providers, _WAIT_S) if models else ()
    doubts = [doubt for model in models if (doubt := _doubt(model, listing))]
    await runtime.choices.choose(job or _ROLE, models)
    return "\n".join([_told(runtime, job or "conversation"), *doubts])


def _told(runtime: Runtime, role: str) -> str:
    """Return a line: which models a job or the conversation asks, and who named them."""
    _, models, origin = next(row for row in models_in_use(runtime) if row[0] == role)
    return f"{role}: {', '.join(models) or 'the first model that is found'} ({origin})"


def _read(name: str, runtime: Runtime) -> ModelRef:
    try:
        return _checked(ModelRef.parse(name), runtime)
    except ValueError as error:
        raise RunError(str(error)) from error


def _checked(model: ModelRef, runtime: Runtime) -> ModelRef:
    if model.provider is not None and model.provider not in runtime.providers:
        near = difflib.get_close_matches(model.provider, runtime.providers, n=1)
        advice = f"did you mean `{near[0]}:{model.model}`?" if near else f"there are {', '.join(runtime.providers)}"
        raise RunError(f"no provider `{model.provider}`; {advice}")
    return model


def _doubt(model: ModelRef, listing: tuple[Listed, ...]) -> str:
    """Say that the providers in question answered and do not list the model; some servers list less than they have."""
    asked = [listed for listed in listing if model.provider in {None, listed.provider}]
    offered = [str(info.ref) if model.provider else info.ref.model for listed in asked for info in listed.models]
    if str(model) in offered or any(listed.problem for listed in asked):
        return ""
    near = difflib.get_close_matches(str(model), offered, n=1)
    return f"No provider lists `{model}`" + (f"; did you mean `{near[0]}`?" if near else ".")


def _list(models: tuple[ModelRef, ...]) -> list[str]:
    return [str(model) for model in models]


def _names(models: tuple[ModelRef, ...]) -> str:
    return ", ".join(_list(models))

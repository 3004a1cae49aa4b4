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

    Raises:
        RunError: a name cannot be read, or there is no such provider; the former choice stays.
    """
    if names == [_DEFAULT]:
        await runtime.choices.choose(_ROLE, ())
        return f"In use: {_names(runtime.settings.agent.models) or 'the first model that is found'}"
    models = tuple(_read(name, runtime) for name in names)
    doubts = [doubt for model in models if (doubt := _doubt(model, await list_models(runtime.providers, _WAIT_S)))]
    await runtime.choices.choose(_ROLE, models)
    return "\n".join([f"In use from now on: {_names(models)}", *doubts])


def _read(name: str, runtime: Runtime) -> ModelRef:
    try:
        model = ModelRef.parse(name)
    except ValueError as error:
        raise RunError(str(error)) from error
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


def _names(models: tuple[ModelRef, ...]) -> str:
    return ", ".join(str(model) for model in models)

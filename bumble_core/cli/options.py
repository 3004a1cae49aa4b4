"""The options that commands share, before and after the command's name.

    @click.command()
    @click.argument("text")
    @common_options("config", "home", "json")
    def run(common: Common, text: str) -> None: ...

`--debug`, `--version` and `--help` come with every command.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import click
from click.core import ParameterSource
from typing_extensions import override

from ..deferred import Deferred
from .table import DISTRIBUTION

P = ParamSpec("P")
R = TypeVar("R")
Command = TypeVar("Command", bound=Callable[..., Any])
Name = Literal["config", "home", "strict", "json"]

configure_logging = Deferred("bumble_core.cli.logs:configure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What the shared options were set to, wherever they stood; None is "not given"."""

    config: Path | None = None
    home: Path | None = None
    strict: bool = False
    as_json: bool = False
    debug: bool = False


@dataclass(slots=True)
class Invocation:
    """One call of `bumble` while it is parsed: an option after the command wins over one before it."""

    common: Common = field(default_factory=Common)


def common_options(*names: Name) -> Callable[[Callable[Concatenate[Common, P], R]], Callable[P, R]]:
    """Give a command the options `names` and pass what they say as its first argument."""

    def decorate(function: Callable[Concatenate[Common, P], R]) -> Callable[P, R]:
        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            common = click.get_current_context().ensure_object(Invocation).common
            return function(common, *args, **kwargs)

        return shared_options(*names)(called)

    return decorate


def shared_options(*names: Name) -> Callable[[Command], Command]:
    """Accept the options `names` without passing them: for groups, whose commands take them."""

    def decorate(function: Command) -> Command:
        for option in (_version, _debug, *(_OPTIONS[name] for name in reversed(names))):
            function = option(function)
        return function

    return decorate


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    name = str(option.name)
    if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        invocation = context.ensure_object(Invocation)
        invocation.common = replace(invocation.common, **{name: value})


def _keep_debug(context: click.Context, option: click.Parameter, value: bool) -> None:
    _keep(context, option, value)
    if value:
        configure_logging(debug=True)


def _print_version(context: click.Context, option: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        version = "(not installed)"
    click.echo(f"bumble {version}")
    context.exit()


def _shared(*declarations: str, help: str, **how: Any) -> Callable[[Command], Command]:
    return click.option(*declarations, help=help, expose_value=False, **{"callback": _keep, **how})


_version = _shared(
    "--version", is_flag=True, is_eager=True, callback=_print_version, help="Print the version and exit."
)
_debug = _shared("--debug", is_flag=True, callback=_keep_debug, help="Show debug logs, and tracebacks of errors.")


class _NamedPath(click.Path):
    """A path that says something: an empty one, as an unset variable of a shell gives it, is no working directory."""

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value).strip():
            self.fail("it is empty", param, ctx)
        return super().convert(value, param, ctx)


_path = _NamedPath(path_type=Path)
_OPTIONS: dict[Name, Callable[[Any], Any]] = {
    "config": _shared("--config", type=_path, metavar="FILE", help="Read the configuration from FILE."),
    "home": _shared("--home", type=_path, metavar="FOLDER", help="Keep sessions and memory in FOLDER."),
    "strict": _shared("--strict", is_flag=True, help="Make any problem of a plugin an error."),
    "json": _shared("--json", "as_json", is_flag=True, help="Print JSON."),
}

"""The reference page of the commands, read from click's own objects."""

from __future__ import annotations

import inspect
import pkgutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent

_ROOT_COMMAND = "bumble"
_EVERYWHERE = {"--debug", "--version", "--help"}
_INTRO = """
Generated from the commands themselves by `python docs/generate.py`.

Every command also takes `--debug`, `--version` and `--help`. Options that several commands share may stand before or
after the name of the command. What the exit status means: [exit codes](exit-codes.md).
"""


def commands_page() -> str:
    """Describe every shipped command, its arguments and options."""
    points = _project()["entry-points"]["bumble_core.commands"]
    app = pkgutil.resolve_name("bumble_core.cli.app:app")
    sections = list(_command_sections(app, _ROOT_COMMAND))
    for name, path in points.items():
        sections += _command_sections(pkgutil.resolve_name(path), f"{_ROOT_COMMAND} {name}")
    return "\n\n".join(["# Commands", _INTRO.strip(), *sections]) + "\n"


def _command_sections(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, **command.context_settings)
    usage = " ".join([name, "[OPTIONS]", *_arguments(command)])
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    own = [each for each in options if name == _ROOT_COMMAND or not _EVERYWHERE & set(each.opts)]
    records = [record for each in own if (record := each.get_help_record(context))]
    lines = "\n".join(f"- `{names}`: {' '.join(words.split())}" for names, words in records)
    heading = f"{'##' if name.count(' ') < 2 else '###'} {name}"
    parts = [heading, f"```text\n{usage}\n```", inspect.cleandoc(command.help or ""), lines]
    yield "\n\n".join(part for part in parts if part)
    for below in getattr(command, "commands", {}).values():
        yield from _command_sections(below, f"{name} {below.name}")


def _arguments(command: click.Command) -> Iterator[str]:
    """Yield the arguments of a usage line; click's own lines differ from version to version."""
    for each in command.params:
        if isinstance(each, click.Argument):
            name = (each.metavar or each.human_readable_name).removesuffix("...")
            yield (name if each.required else f"[{name}]") + ("..." if each.nargs == -1 else "")
    if isinstance(command, click.Group):
        yield "[COMMAND]" if command.invoke_without_command else "COMMAND"


def _project() -> dict[str, dict[str, dict[str, str]]]:
    project: dict[str, dict[str, dict[str, str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project

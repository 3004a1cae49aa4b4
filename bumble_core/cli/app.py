"""The command `bumble` itself: a group whose commands are found by name and imported when they are called."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cached_property

import click
from click.shell_completion import CompletionItem
from typing_extensions import override

from .commands import Found, find, load
from .options import Invocation, configure_logging, shared_options


class Commands(click.Group):
    """Lists commands from a table and from entry points; `get_command` imports the one that is asked for."""

    @cached_property
    def _found(self) -> Mapping[str, Found]:
        return find()

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._found)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = self._found.get(cmd_name)
        return load(found) if found else None

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._found and not name.startswith("-"):
            near = difflib.get_close_matches(name, self._found, n=1)
            advice = f"did you mean `{near[0]}`?" if near else "`bumble --help` lists them."
            ctx.fail(f"No command `{name}`; {advice}")
        return super().resolve_command(ctx, args)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, found.summary) for name, found in self._found.items()])

    @override
    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names without importing a command: a broken one must not break completion."""
        options = click.Command.shell_complete(self, ctx, incomplete)
        names = [found for name, found in self._found.items() if name.startswith(incomplete)]
        return [*options, *(CompletionItem(found.name, help=found.summary) for found in names)]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@shared_options("config", "home", "strict")
@click.pass_context
def app(context: click.Context) -> None:
    """An agent's cognition in small, replaceable stages."""
    configure_logging(debug=context.ensure_object(Invocation).common.debug)

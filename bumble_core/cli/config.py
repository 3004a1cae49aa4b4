"""`bumble config`: show, check, find and trust the configuration."""

from __future__ import annotations

from pathlib import Path

import click

from ..configuration import FILE_NAME, Configuration, Decision, Surroundings, Trust, examine, resolve
from ..configuration.locate import expanded
from ..configuration.values import values_of
from ..errors import ConfigError
from ..secrecy import masked
from ..types.settings import Settings
from .config_check import check_plugins_of
from .entry import configuration, described
from .options import Common, common_options, shared_options
from .output import Cell, print_json, print_rows, tell

_folder = click.argument("folder", type=click.Path(path_type=Path), required=False)


@click.group()
@shared_options()
def config() -> None:
    """Show, check or trust the configuration."""


@config.command()
@click.option("--all", "everything", is_flag=True, help="Show the settings that have their default, too.")
@common_options("config", "home", "json")
def show(common: Common, everything: bool) -> None:
    """Show each setting and where it comes from.

    Secrets are masked.
    """
    found = configuration(common)
    rows = []
    for key, value in values_of(found.settings):
        origin = found.origins[".".join(key)]
        if everything or origin.kind != "default":
            rows.append((".".join(key), masked(value, *key), str(origin)))
    if common.as_json:
        print_json([{"key": key, "value": value, "origin": origin} for key, value, origin in rows])
    else:
        printed = [(key, _cell(value), origin) for key, value, origin in rows]
        print_rows(("key", "value", "origin"), printed, empty="Every setting has its default; --all shows them.")


@config.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@common_options("config")
def check(common: Common, file: Path | None) -> None:
    """Check a file, or the one that is used, and what it asks of the plugins that are installed."""
    found = resolve(file or common.config)
    check_plugins_of(found, common)
    if file:
        tell(f"{file} is fine.")
        return
    tell(f"{found.source} is fine." if found.source else "There is no configuration file; the defaults hold.")
    if found.held_back:
        tell(f"It is not trusted, and this is held back:\n{described(found.held_back)}", err=True)


@config.command()
def schema() -> None:
    """Print the JSON schema of the file."""
    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **Settings.model_json_schema()})


@config.command()
@common_options("config", "home", "json")
def path(common: Common) -> None:
    """Show which file is used, and what the home is."""
    found = resolve(common.config, overrides={"home": common.home} if common.home else {})
    looked = [(rule, str(each), _use(found, each)) for rule, each in found.located.looked_at]
    print_rows(("rule", "path", "used"), [*looked, ("home", str(found.home), "yes")], as_json=common.as_json)


@config.command()
@_folder
@shared_options()
def trust(folder: Path | None) -> None:
    """Trust the file of FOLDER, as it is now.

    FOLDER is the working directory, or one above it, unless given.
    """
    file = _file(folder)
    changes = _decide(file, "trusted")
    tell(f"{file} is trusted until it changes. {changes}")


@config.command()
@_folder
@shared_options()
def distrust(folder: Path | None) -> None:
    """Do not trust the file of FOLDER, and do not ask.

    FOLDER is the working directory, or one above it, unless given.
    """
    file = _file(folder)
    changes = _decide(file, "refused")
    tell(f"{file} is not trusted. {changes}")


def _file(folder: Path | None) -> Path:
    around = Surroundings.of_process()
    here = (around.working_directory / expanded(folder)) if folder else around.working_directory
    folders = (here,) if folder else (here, *here.parents)
    found = next((each / FILE_NAME for each in folders if (each / FILE_NAME).is_file()), None)
    if found is None:
        raise ConfigError(f"{here}: there is no {FILE_NAME}{'' if folder else ' here or above'}")
    return found


def _decide(file: Path, decision: Decision) -> str:
    """Keep a decision about the file as it is now, and return what that changes."""
    examined = examine(file)
    Trust.among(Surroundings.of_process().data_folder).decide(file, examined.digest, decision)
    return f"It sets:\n{described(examined.demands)}" if examined.demands else "It sets nothing that needs trust."


def _use(found: Configuration, path: Path) -> str:
    if path != found.source:
        return "-"
    return "yes" if found.verdict == "trusted" or not found.held_back else "in part: not trusted"


def _cell(value: object) -> Cell:
    if isinstance(value, list):
        return [str(each) for each in value]
    return value if isinstance(value, str | int | float | None) else str(value)

"""Read the configuration: an application names a file, the command line resolves every source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from ..entity_folder import entity_folder
from ..errors import ConfigError
from ..regular import read_beginning
from ..types.settings import Settings
from .environment import environment_layer
from .keys import Key, advice, place_of
from .locate import Located, Surroundings, locate, user_file
from .nodes import MOST_BYTES
from .origins import DEFAULT, Given, Layer, Origin, Wrong, file_layer, flag_layer, tree_of
from .problems import explained
from .trust import HeldBack, Trust, Verdict, digest_of, held_back, is_harmless
from .values import values_of
from .yaml_source import dotted

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What one file sets that needs trust; `digest` names exactly this content of it."""

    path: Path
    digest: str
    demands: tuple[HeldBack, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The settings in force, each with its origin, and what a file without trust would have changed.

    `origins` goes by dotted key and has every key that holds a value. `home` is the entity's folder. `verdict` is on
    the file `examined`; where there is none, there is nothing to distrust.
    """

    settings: Settings
    located: Located
    examined: Examined | None
    verdict: Verdict
    home: Path
    origins: Mapping[str, Origin]

    @property
    def held_back(self) -> tuple[HeldBack, ...]:
        return self.examined.demands if self.examined and self.verdict != "trusted" else ()

    @property
    def source(self) -> Path | None:
        return self.located.path


def read_settings(path: Path) -> Settings:
    """Read one configuration file and nothing else: no environment, no other place.

    Raises:
        ConfigError: the file is missing or wrong; the message has one line for each problem.
    """
    layer = file_layer(path, _content(path), str(path))
    settings, _ = _checked([layer])
    return settings


def examine(path: Path) -> Examined:
    """Say what one file would set that needs trust.

    Raises:
        ConfigError: the file is missing or wrong.
    """
    content = _content(path)
    layer = file_layer(path, content, str(path))
    _checked([layer])
    return Examined(path=path, digest=digest_of(content), demands=held_back(layer.given))


def resolve(
    named: Path | None = None,
    *,
    overrides: Mapping[str, object] = _NOTHING,
    surroundings: Surroundings | None = None,
    trust: Trust | None = None,
) -> Configuration:
    """Find and read the file, and put the environment and then `overrides`, by dotted key, over it.

    A file of the working directory that is not trusted gives its harmless settings only, over the user's own file.

    Raises:
        ConfigError: any of it is wrong; the message has one line for each problem.
    """
    around = surroundings or Surroundings.of_process()
    located = locate(named, around)
    files, examined, verdict = _files(located, around, trust or Trust.among(around.data_folder))
    environment = environment_layer(around.environment, around.working_directory)
    settings, given = _checked([*files, environment, flag_layer(overrides, around.working_directory)])
    origins = {".".join(key): _origin(key, given) for key, _ in values_of(settings)}
    home = settings.home or around.data_folder / entity_folder(settings.agent.name)
    return Configuration(
        settings=settings, located=located, examined=examined, verdict=verdict, home=home, origins=origins
    )


def _files(located: Located, around: Surroundings, trust: Trust) -> tuple[list[Layer], Examined | None, Verdict]:
    if located.path is None:
        return [], None, "trusted"
    if located.may_be_foreign and not located.path.is_file():  # a pipe would make us wait for ever
        raise ConfigError(f"{located.path}: not a regular file")
    content = _content(located.path)
    layer = file_layer(located.path, content, _short(located.path, around.working_directory))
    examined = Examined(path=located.path, digest=digest_of(content), demands=held_back(layer.given))
    verdict = trust.verdict(located.path, examined.digest) if located.may_be_foreign else "trusted"
    if verdict == "trusted":
        return [layer], examined, verdict
    own = user_file(around)
    below = [file_layer(own, _content(own), str(own))] if own.is_file() else []
    _checked([layer])  # what is wrong is said before anybody is asked for trust
    harmless = tuple(each for each in layer.given if is_harmless(each.key))
    return [*below, Layer(harmless)], examined, verdict


def _checked(layers: Iterable[Layer]) -> tuple[Settings, dict[Key, Given]]:
    """Put layers over each other; what they say of unknown keys and wrong values becomes one error."""
    given: dict[Key, Given] = {}
    wrong: list[Wrong] = []
    for layer in layers:
        wrong.extend(layer.wrong)
        given.update({each.key: each for each in layer.given})
    for key in [key for key in given if place_of(key) is None]:
        unknown = given.pop(key)
        wrong.append(Wrong(unknown.origin, f"{dotted(key)}: unknown key; {advice(key)}"))
    try:
        settings = Settings.model_validate(tree_of(given))
    except ValidationError as error:
        raise _error((*wrong, *explained(error, given))) from error
    if wrong:
        raise _error(wrong)
    return settings, given


def _error(wrong: Iterable[Wrong]) -> ConfigError:
    kinds = ("file", "environment", "flag", "default")
    ordered = sorted(wrong, key=lambda each: (kinds.index(each.origin.kind), each.origin.name, each.origin.line))
    return ConfigError("\n".join(str(each) for each in ordered))


def _origin(key: Key, given: Mapping[Key, Given]) -> Origin:
    return given[key].origin if key in given else DEFAULT


def _content(path: Path) -> bytes:
    """Read a file, or as much of it as shows that it is too large."""
    try:
        return read_beginning(path, MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error


def _short(path: Path, folder: Path) -> str:
    """Return the path as a person in `folder` would write it."""
    relative = os.path.relpath(path, folder)
    return str(path) if relative.startswith("../..") else relative

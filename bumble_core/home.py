"""The folder that holds everything an entity keeps: made, recognised, brought up to date."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from .atomic import sweep, write_atomically
from .entity_folder import entity_folder
from .errors import HomeError
from .ports import Files

_LONGEST_MIGRATION_S = 300.0  # another process that starts at the same time waits for it

Migration = Callable[[Path, Files], None]

MIGRATIONS: Mapping[int, Migration] = {}  # from the schema of the key to the next; a step may be run twice


def default_home(entity_name: str) -> Path:
    """Return the entity's folder in the user's data directory."""
    return platformdirs.user_data_path("bumble", appauthor=False) / entity_folder(entity_name)


def open_home(path: Path, files: Files, migrations: Mapping[int, Migration] = MIGRATIONS) -> None:
    """Make `path` a home that this version can use: create it, or migrate it with a copy kept beside it.

    The schema of this version is one more than the last that `migrations` starts from.

    Raises:
        HomeError: it cannot be made or written, its `home.json` cannot be read, or a later version wrote it.
    """
    schema = max(migrations, default=0) + 1
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError("it cannot be read and written")
        (path / "locks").mkdir(exist_ok=True)
        if _schema(path, files) != schema:
            with FileLock(path / "locks" / "home.lock", timeout=_LONGEST_MIGRATION_S):
                _bring_up(path, files, migrations, schema)
    except (OSError, ValueError, Timeout) as error:
        raise HomeError(f"home `{path}` cannot be used: {error}; choose another with `--home`") from error


def _bring_up(path: Path, files: Files, migrations: Mapping[int, Migration], schema: int) -> None:
    found = _schema(path, files)
    sweep(files, path, lambda _: False)
    if found is None:
        _mark(path, files, schema)
    elif found > schema:
        raise HomeError(
            f"home `{path}` was made by a later version of bumble_core (its schema is {found}, this version knows "
            f"{schema}); install that version, or choose another home with `--home`"
        )
    elif found < schema:
        _migrate(path, files, migrations, found, schema)


def _schema(path: Path, files: Files) -> int | None:
    """Read which schema a home has; None is one that has just been made."""
    file = path / "home.json"
    if not file.exists():
        return None
    with files.open(file, "rb") as handle:
        data = handle.read()
    try:
        schema = json.loads(data)["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HomeError(f'`{file}` cannot be read; it should be {{"schema": 1}}') from error
    if type(schema) is not int or schema < 1:
        raise HomeError(f"`{file}`: schema {schema!r} is not a whole number from 1 on")
    return schema


def _migrate(path: Path, files: Files, migrations: Mapping[int, Migration], found: int, schema: int) -> None:
    copy: Path | None = None
    try:
        copy = _copy(path, found)
        for step in range(found, schema):
            migrations[step](path, files)
            _mark(path, files, step + 1)
    except Exception as error:
        where = f"; its copy is `{copy}`" if copy else ""
        raise HomeError(f"home `{path}` could not be migrated to schema {schema}: {error}{where}") from error


def _copy(path: Path, schema: int) -> Path:
    """Copy the home beside itself; a copy that fails leaves nothing."""
    names = (f"{path.name}.schema-{schema}" + (f"-{nth}" if nth > 1 else "") for nth in itertools.count(1))
    target = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    part = path.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        shutil.copytree(path, part, symlinks=True, ignore=shutil.ignore_patterns("locks"))
        part.rename(target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return target


def _mark(path: Path, files: Files, schema: int) -> None:
    write_atomically(files, path / "home.json", json.dumps({"schema": schema}).encode() + b"\n")

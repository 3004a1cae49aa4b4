"""Write the reference pages that follow from the code: one function per page.

python docs/generate.py            write the pages
python docs/generate.py --check    say which ones differ, and exit with 1 if any does
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import structlog
from commands_page import commands_page
from gate_page import gate_page
from hooks_page import hooks_page
from levels_page import levels_page
from routing_page import routing_page

from bumble_core.configuration.keys import Key, Place, known_keys, place_of
from bumble_core.configuration.trust import is_harmless
from bumble_core.configuration.values import values_of
from bumble_core.types.settings import Settings

DOCS = Path(__file__).parent

_SETTINGS_HEAD = """\
# Settings

Generated from `bumble_core/types/settings.py` by `python docs/generate.py`.

## Where they come from

A flag wins over the environment, the environment over the file, the file over the default. `bumble config show` prints
each value with its origin, `bumble config path` which file is used.

The file is the first of these that exists:

1. the one that `--config` names (an error when it is missing)
2. the one that `BUMBLE_CONFIG` names (an error when it is missing)
3. `bumble.yaml` in the working directory, or in the nearest folder above it
4. `bumble.yaml` in your configuration folder (`~/.config/bumble` on Linux)

A file of the third kind may have come with somebody's repository. Until you trust it (`bumble config trust`), it sets
only what the column *any folder* marks with yes, over your own file; [why](../design/configuration-trust.md).

In the environment, `BUMBLE_HOME` is `home` and `BUMBLE_MODEL` is `agent.models`, separated by commas. Every other key
is written with two underscores between its levels: `BUMBLE__COGNITION__MAX_CONTEXT_TOKENS=8192`. Text and paths are
taken as they are; a list is separated by commas, or written in brackets; everything else is read as YAML. An empty
variable counts as not set. A relative `home` is meant from the folder of the file, or from the working directory.

## How the file is read

The file is YAML 1.2 in UTF-8. `yes`, `no`, `on`, `off`, `12:30` and `1_000` are text; `true`, `false`, `null`, `8`,
`0o17`, `0x1f`, `1e3` and `.5` are not. A key that stands twice, a key that does not exist, a tag, a tab used for
indentation and a value of the wrong kind are errors, and all of a file's errors are reported at once, with their lines.
Anchors, aliases and `<<` work; keys of a mapping win over what it merges. A file holds at most 256,000 bytes, and
20,000 values once its aliases are put in.
"""


def settings_page() -> str:
    """Return `reference/settings.md`: every key, what it expects, its default, and who may set it."""
    defaults = dict(values_of(Settings()))
    sections: dict[Key, list[str]] = {}
    for key, place in known_keys():
        sections.setdefault(key[:-1] if len(key) > 1 else (), []).append(_row(key, place, defaults))
    return "\n".join([_SETTINGS_HEAD, *(line for key, rows in sections.items() for line in _section(key, rows))])


def _section(key: Key, rows: list[str]) -> Iterator[str]:
    place = place_of(key)
    words = inspect.cleandoc(place.section.__doc__ or "") if place and place.section else ""
    yield f"## `{'.'.join(key)}`\n" if key else "## At the top\n"
    if key and words:
        yield f"{words}\n"
    yield "| key | expects | default | any folder | what it does |\n| --- | --- | --- | --- | --- |"
    yield from rows
    yield ""


def _row(key: Key, place: Place, defaults: Mapping[Key, object]) -> str:
    default = defaults.get(key, place.field.default if place.field else None)
    words = place.field.description or "" if place.field else _WORDS[key]
    shown = "unset" if default is None else f"`{_written(default)}`"
    return f"| `{'.'.join(key)}` | {place.expected} | {shown} | {'yes' if is_harmless(key) else 'no'} | {words} |"


_WORDS: Mapping[Key, str] = {
    ("gate", "surfaces", "NAME"): type(Settings().gate).model_fields["surfaces"].description or "",
    ("cognition", "model_windows", "NAME"): type(Settings().cognition).model_fields["model_windows"].description or "",
    ("plugins", "NAME"): "The own section of the plugin of that name; its documentation has the keys.",
    ("tools", "timeouts", "NAME"): type(Settings().tools).model_fields["timeouts"].description or "",
    ("prefer", "NAME"): Settings.model_fields["prefer"].description or "",
}


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "[" + ", ".join(str(each) for each in value) + "]" if isinstance(value, list | tuple) else str(value)


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/gate.md": gate_page,
    "reference/hooks.md": hooks_page,
    "reference/levels.md": levels_page,
    "reference/routing.md": routing_page,
    "reference/settings.md": settings_page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` compare them."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))  # pages show failures
    texts = {name: page() for name, page in PAGES.items()}
    stale = [name for name, text in texts.items() if not _is_current(DOCS / name, text)]
    for name in stale:
        if arguments == ["--check"]:
            print(f"docs/{name} differs from the code; run: python docs/generate.py")
        else:
            DOCS.joinpath(name).write_text(texts[name], encoding="utf-8")
            print(f"docs/{name} written")
    return 1 if stale and arguments == ["--check"] else 0


def _is_current(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

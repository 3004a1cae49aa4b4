"""Read what is known of languages from files, a language each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ..types.languages import LanguagePack


def merged(packs: Sequence[LanguagePack]) -> tuple[LanguagePack, ...]:
    """Return one pack a language, its lists joined in the order of `packs`; a phrase that comes twice counts once."""
    lists: dict[str, dict[str, dict[str, None]]] = {}
    for pack in packs:
        for name, phrases in pack.lists.items():
            lists.setdefault(pack.language, {}).setdefault(name, {}).update(dict.fromkeys(phrases))
    return tuple(
        LanguagePack(language=language, lists={name: tuple(phrases) for name, phrases in named.items()})
        for language, named in lists.items()
    )


def read_packs(folder: Path) -> tuple[LanguagePack, ...]:
    """Read a pack from every `LANGUAGE.txt` of a folder.

    A list begins with its name in brackets on a line of its own; phrases stand between commas or on lines; what
    follows `#` is a remark. In a phrase `file*` is any word that begins so, `*ing` any longer word that ends so, and
    `*` alone one to four words.

    Raises:
        ValueError: phrases stand before the first list.
    """
    return tuple(_read(path, path.stat().st_mtime_ns) for path in sorted(folder.glob("*.txt")))


@lru_cache(maxsize=64)
def _read(path: Path, changed_ns: int) -> LanguagePack:
    """Read one file; `changed_ns` only tells a changed file from the one that was read."""
    lists: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        content = line.partition("#")[0].strip()
        if content.startswith("[") and content.endswith("]"):
            current = lists.setdefault(content[1:-1].strip(), [])
        elif content and current is None:
            raise ValueError(f"`{path.name}`: `{content}` stands before the first list; write `[name]` above it")
        elif content and current is not None:
            current += filter(None, map(str.strip, content.split(",")))
    return LanguagePack(language=path.stem, lists={name: tuple(phrases) for name, phrases in lists.items()})

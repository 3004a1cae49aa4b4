"""What costs time is loaded at its first use, and once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bumble_core import Deferred, Later


@pytest.fixture
def costly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module that nobody has imported yet."""
    name = "a_costly_module"
    (tmp_path / f"{name}.py").write_text("def make(*given, **named):\n    return [given, named]\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_deferred_callable_is_imported_at_its_first_call(costly: str) -> None:
    make = Deferred(f"{costly}:make")
    assert costly not in sys.modules
    assert make(1, two=2) == [(1,), {"two": 2}]


def test_a_later_object_is_made_once_at_its_first_use(costly: str) -> None:
    later: Later[list[object]] = Later(f"{costly}:make", 1, two=2)
    assert (later.made, costly in sys.modules) == (None, False)
    assert later() is later() is later.made
    assert later() == [(1,), {"two": 2}]


@pytest.mark.parametrize("kind", [Deferred, Later])
def test_a_library_that_is_missing_is_told_before_the_first_use(kind: type[Deferred | Later[object]]) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        kind("bumble_core:user", needs=("no_such_library",))

"""Load an object when it is first used, so that what costs time is paid by those who need it."""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Deferred:
    """A callable named by `package.module:name`, imported at its first call.

    `needs` are top-level modules that must be installed; a missing one is reported when the deferred is made, not in
    the middle of a conversation.

    Raises:
        ModuleNotFoundError: one of `needs` is not installed; `name` says which.
    """

    def __init__(self, path: str, *, needs: tuple[str, ...] = ()) -> None:
        for module in needs:
            if importlib.util.find_spec(module) is None:
                raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        self._path = path
        self._target: Callable[..., Any] | None = None

    def __call__(self, *args: object, **named: object) -> Any:
        if self._target is None:
            self._target = cast("Callable[..., Any]", pkgutil.resolve_name(self._path))
        return self._target(*args, **named)


class Later(Generic[T]):
    """An object that is made at the first call, by the callable that `path` names, and then is always the same.

    Raises:
        ModuleNotFoundError: one of `needs` is not installed; `name` says which.
    """

    def __init__(self, path: str, *given: object, needs: tuple[str, ...] = (), **named: object) -> None:
        self._make = Deferred(path, needs=needs)
        self._given, self._named = given, named
        self._made: T | None = None

    def __call__(self) -> T:
        if self._made is None:
            self._made = cast("T", self._make(*self._given, **self._named))
        return self._made

    @property
    def made(self) -> T | None:
        """The object, if it was asked for."""
        return self._made

"""Hold what a stage gives to what its port promises, so that a forgotten `return` is an error with a name."""

from __future__ import annotations

from typing import Final, TypeVar

from .errors import ContractError

T = TypeVar("T")

# What a stranger's code may raise without ending the program: a plugin that calls `sys.exit` has failed, no more.
# Ctrl-C is not among it, and neither is what a test raises to stop itself.
FAULTS: Final = (Exception, SystemExit)


def kept(value: object, kind: type[T], whose: str) -> T:
    """Return `value`, which `whose` gave.

    Raises:
        ContractError: it is no `kind`.
    """
    if not isinstance(value, kind):
        raise ContractError(f"{whose} gave {type(value).__name__}, expected a {kind.__name__}")
    return value

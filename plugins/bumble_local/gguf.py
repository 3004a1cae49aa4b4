"""Read from the header of a GGUF file the window that its model was trained with.

A header is `GGUF`, a version, the number of tensors, the number of entries, then the entries: key, kind of value,
value. All numbers are little-endian.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_LARGEST_VALUE = 2**32  # bytes; a vocabulary takes a few million


def trained_window(path: Path) -> int | None:
    """Return the tokens of the window, None where the file has a header that does not say.

    Raises:
        ValueError: this is not a whole GGUF header.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ValueError(f"{path} is not a GGUF file")
        _number(file, "<I")
        _number(file, "<Q")
        for _ in range(_number(file, "<Q")):
            key = _take(file, _number(file, "<Q"))
            kind = _number(file, "<I")
            if key.endswith(b".context_length") and kind in _INTEGERS:
                return _number(file, _INTEGERS[kind])
            _skip(file, kind)
    return None


def _take(file: BinaryIO, size: int) -> bytes:
    data = file.read(min(size, _LARGEST_VALUE))
    if len(data) < size:
        raise ValueError(f"{file.name} ends in the middle of its header")
    return data


def _number(file: BinaryIO, layout: str) -> int:
    return int(struct.unpack(layout, _take(file, struct.calcsize(layout)))[0])


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _jump(file, _number(file, "<Q"))
    elif kind in _SIZES:
        _jump(file, _SIZES[kind])
    elif kind == _ARRAY:
        member, count = _number(file, "<I"), _number(file, "<Q")
        if member in _SIZES:
            _jump(file, _SIZES[member] * count)
        elif member == _STRING:
            for _ in range(count):
                _jump(file, _number(file, "<Q"))
        else:
            raise ValueError(f"{file.name} has a list of an unknown kind, {member}")
    else:
        raise ValueError(f"{file.name} has an entry of an unknown kind, {kind}")


def _jump(file: BinaryIO, size: int) -> None:
    if size > _LARGEST_VALUE:
        raise ValueError(f"{file.name} has an entry of {size} bytes in its header")
    file.seek(size, 1)

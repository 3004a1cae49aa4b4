"""Where model files are found and what their headers say."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest
from bumble_local import pull
from bumble_local.catalogue import locate, models_folder
from bumble_local.gguf import trained_window
from bumble_local.provider import LocalProvider

from bumble_core.errors import ModelMissing

U32, STRING, ARRAY = 4, 8, 9


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def header(*entries: bytes, count: int | None = None) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries) if count is None else count) + b"".join(entries)


NAME = entry("general.name", STRING, text("small"))
WORDS = entry("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", STRING, 2) + text("a") + text("b"))
NUMBERS = entry("some.numbers", ARRAY, struct.pack("<IQ", U32, 3) + bytes(12))
WINDOW = entry("llama.context_length", U32, struct.pack("<I", 4096))
ORIGINAL = entry("llama.rope.scaling.original_context_length", U32, struct.pack("<I", 512))


@pytest.mark.parametrize(
    ("content", "window"),
    [
        (header(WINDOW), 4096),
        (header(NAME, WORDS, NUMBERS, ORIGINAL, WINDOW), 4096),
        (header(NAME, ORIGINAL), None),
    ],
    ids=["alone", "after-others", "not-said"],
)
def test_the_trained_window_is_read_from_the_header(content: bytes, window: int | None, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    assert trained_window(path) == window


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is not a GGUF file"),
        (b"PK\x03\x04" * 20, "is not a GGUF file"),
        (header(NAME, WINDOW)[:-2], "ends in the middle"),
        (header(NAME, count=2**60), "ends in the middle"),
        (header(entry("a", STRING, struct.pack("<Q", 2**63))), "bytes in its header"),
        (header(entry("a", ARRAY, struct.pack("<IQ", U32, 2**62))), "bytes in its header"),
        (header(entry("a", ARRAY, struct.pack("<IQ", ARRAY, 1))), "list of an unknown kind"),
        (header(entry("a", 99, b"")), "unknown kind, 99"),
    ],
    ids=["empty", "zip", "cut", "too-many", "huge-text", "huge-list", "nested-list", "unknown-kind"],
)
def test_a_damaged_header_is_an_error_that_names_the_file(content: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.gguf"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"damaged\.gguf .*{complaint}"):
        trained_window(path)


def test_a_name_is_looked_for_in_the_models_folder_and_then_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, work = tmp_path / "models", tmp_path / "work"
    for path in (models / "both.gguf", work / "both.gguf", work / "sub" / "mine.gguf"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(work)
    assert locate("both.gguf", models) == models / "both.gguf"
    assert locate("sub/mine.gguf", models) == work / "sub" / "mine.gguf"
    assert locate(str(work / "both.gguf"), models) == work / "both.gguf"
    with pytest.raises(ModelMissing, match=r"`neither.gguf` is neither .*`local:PATH.gguf`"):
        locate("neither.gguf", models)


def test_the_folder_is_the_environments_then_the_configured_then_the_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUMBLE_MODELS", str(tmp_path / "environment"))
    assert models_folder(tmp_path / "configured") == tmp_path / "environment"
    monkeypatch.delenv("BUMBLE_MODELS")
    assert models_folder(tmp_path / "configured") == tmp_path / "configured"
    assert models_folder().parts[-2:] == ("bumble", "models")


def test_models_lists_what_is_there_and_what_could_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BUMBLE_MODELS", raising=False)
    (tmp_path / "mine.gguf").write_bytes(header(WINDOW))
    (tmp_path / "broken.gguf").write_text("hello")
    (tmp_path / "notes.txt").write_text("hello")
    smollm2, broken, mine = asyncio.run(LocalProvider(models_folder=tmp_path, context_tokens=1024).models())
    assert (str(smollm2.ref), smollm2.is_default) == ("local:smollm2", False)
    assert smollm2.note == "not downloaded; `bumble models pull smollm2`"
    assert (str(mine.ref), mine.context_window, mine.is_default, mine.note) == ("local:mine.gguf", 1024, False, "")
    assert mine.size == len(header(WINDOW))
    assert broken.note.startswith("cannot be run: ")


def test_models_of_a_folder_that_does_not_exist_are_those_that_could_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BUMBLE_MODELS", raising=False)
    (smollm2,) = asyncio.run(LocalProvider(models_folder=tmp_path / "nowhere").models())
    assert smollm2.ref.model == "smollm2"


@pytest.mark.slow
def test_the_small_model_is_the_default_once_it_is_there() -> None:
    first, *_ = asyncio.run(LocalProvider(models_folder=pull("smollm2").parent).models())
    assert (first.is_default, first.context_window, first.size, first.note) == (True, 8192, 98_362_432, "")

"""The provider `local`: requests to llama.cpp in this process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bumble_core import Deferred
from bumble_core.chat import ChatAssembler, encode_json, encode_request
from bumble_core.errors import InferenceError, InvalidRequest
from bumble_core.ports import Report
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request

from .catalogue import PACKAGED, locate, models_folder, other_files
from .engine import Engine
from .gguf import trained_window

_fetch = Deferred("bumble_local.download:fetch")


class LocalProvider:
    """Answers with model files of this machine.

    A model is loaded by its first request and kept until `aclose`; its window is decided then. Requests to one model
    run one after the other, requests to two models side by side.
    """

    name = "local"

    def __init__(
        self, *, threads: int | None = None, context_tokens: int | None = None, models_folder: Path | None = None
    ) -> None:
        self._threads = threads
        self._context_tokens = context_tokens
        self._configured_folder = models_folder
        self._engines: dict[Path, Engine] = {}

    @property
    def folder(self) -> Path:
        return models_folder(self._configured_folder)

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        engine = await self._engine(model, request.context_window)
        assembler = ChatAssembler(ModelRef(provider=self.name, model=model))
        async with aclosing(engine.chat(_body(request, model))) as chunks:
            async for chunk in chunks:
                for delta in assembler.feed(chunk):
                    yield delta
        yield assembler.completion()

    async def models(self) -> tuple[ModelInfo, ...]:
        return await asyncio.to_thread(self._listing)

    async def pull(self, model: str, report: Report) -> None:
        """Download a model of the catalogue; cancelled, the download stops and leaves nothing behind."""
        loop = asyncio.get_running_loop()
        left = threading.Event()

        def tell(done: int, total: int | None) -> None:
            loop.call_soon_threadsafe(report, done, total)

        try:
            await asyncio.to_thread(_fetch, model, folder=self.folder, report=tell, is_left=left.is_set)
        finally:
            left.set()

    async def aclose(self) -> None:
        engines = tuple(self._engines.values())
        self._engines.clear()
        for engine in engines:
            await engine.aclose()

    async def _engine(self, model: str, wanted: int) -> Engine:
        path = await asyncio.to_thread(locate, model, self.folder)
        if path not in self._engines:
            trained = await asyncio.to_thread(_trained_window, path)
            window = min(self._context_tokens or wanted, trained or wanted)
            self._engines.setdefault(path, Engine(path, window=window, threads=self._threads))
        engine = self._engines[path]
        try:
            await engine.loaded()
        except InferenceError:
            self._engines.pop(path, None)
            raise
        return engine

    def _listing(self) -> tuple[ModelInfo, ...]:
        folder = self.folder
        packaged = [
            self._info(name, folder / model.file, is_default=True)
            if model.is_installed(folder)
            else ModelInfo(
                ref=ModelRef(provider=self.name, model=name), is_ready=False, note=f"not downloaded; {model.remedy}"
            )
            for name, model in PACKAGED.items()
        ]
        return (*packaged, *(self._info(path.name, path) for path in other_files(folder)))

    def _info(self, model: str, path: Path, *, is_default: bool = False) -> ModelInfo:
        window, note = None, ""
        try:
            trained = trained_window(path)
            window = min(self._context_tokens, trained) if self._context_tokens and trained else trained
        except (OSError, ValueError) as error:
            note = f"cannot be run: {error}"
        if engine := self._engines.get(path.resolve()):
            window = engine.window
        return ModelInfo(
            ref=ModelRef(provider=self.name, model=model),
            context_window=window,
            size=path.stat().st_size,
            is_default=is_default and not note,
            note=note,
        )


def _trained_window(path: Path) -> int | None:
    try:
        return trained_window(path)
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"`{path}` cannot be run: {error}") from error


def _body(request: Request, model: str) -> dict[str, Any]:
    """Return the request as llama.cpp takes it; going through JSON replaces halves of characters, which it refuses."""
    body = encode_request(request, model, stream=True)
    body["chat_template_kwargs"] = {"enable_thinking": request.profile.thinking}
    if packaged := PACKAGED.get(model):
        body["repeat_penalty"] = packaged.repeat_penalty
        body["temperature"] = min(request.profile.temperature, packaged.hottest)
    repaired: dict[str, Any] = json.loads(encode_json(body))
    return repaired

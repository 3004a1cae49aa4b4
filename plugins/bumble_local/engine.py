"""One llama.cpp engine in this process: one model file, one thread, one request at a time."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol

from bumble_core import Deferred
from bumble_core.errors import InferenceError, InvalidRequest, Overloaded, TimedOut

from .line import Line, is_ending

Chunk = Mapping[str, Any]

_BATCH = 64  # tokens; the engine looks for a cancel between two batches of a prompt, here every 0.3 s
_PROMPT_CACHE_MIB = 512  # prompts of other conversations that need not be read again
_WINDOW_STEP = 256  # llama.cpp rounds windows up to a multiple of this
_LONGEST_ADDRESS = 100  # bytes; systems allow a socket's path 104 or 108
_QUEUE_LIMIT_S = 600.0  # for the requests before this one to end
_SILENCE_LIMIT_S = 180.0  # between two batches or tokens; a large model on a slow machine takes a minute

_make_server = Deferred("xllamacpp:Server")
_make_params = Deferred("xllamacpp:CommonParams")
_devices = Deferred("xllamacpp:get_device_info")


class _Server(Protocol):
    def handle_chat_completions(self, body: Mapping[str, Any], callback: Callable[[Chunk], bool], /) -> None: ...
    def handle_metrics(self) -> str: ...


class _Started: ...


class _Ended: ...


_Item = Chunk | _Started | _Ended | InferenceError


class Engine:
    """A model in memory. The file is loaded at once, in the engine's thread; requests wait there for their turn.

    `window` is rounded down to what the engine can have. llama.cpp holds the interpreter's lock while it builds the
    model, 0.3 s for 100 MB on two cores; everything else leaves the event loop free.
    """

    def __init__(self, path: Path, *, window: int, threads: int | None = None) -> None:
        self.window = max(_WINDOW_STEP, window - window % _WINDOW_STEP)
        self._path = path
        self._closing = threading.Event()
        self._servers: list[_Server] = []  # the one; a list, so that it can be let go without this object
        weakref.finalize(self, self._servers.clear)  # llama.cpp's threads must not outlive the interpreter
        self._line = Line(f"llama-{path.stem}")
        self._loading = self._line.submit(lambda: self._load(threads))

    async def loaded(self) -> None:
        """Wait until the model is in memory.

        Raises:
            InvalidRequest: llama.cpp cannot run the file.
        """
        await asyncio.shield(asyncio.wrap_future(self._loading))

    async def chat(self, body: Mapping[str, Any]) -> AsyncGenerator[Chunk, None]:
        """Yield the chunks of a streamed chat completion; left early, the engine stops after the batch at hand.

        Raises:
            InferenceError: the engine refused the request, failed, or was silent for too long.
        """
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[_Item] = asyncio.Queue()
        left = threading.Event()

        def tell(item: _Item) -> None:
            try:
                loop.call_soon_threadsafe(items.put_nowait, item)
            except RuntimeError:  # the loop is closed
                left.set()

        work = self._line.submit(lambda: self._answer(body, tell, left))
        try:
            await _next(items, _QUEUE_LIMIT_S, "first_byte")
            while not isinstance(item := await _next(items, _SILENCE_LIMIT_S, "between_bytes"), _Ended):
                if isinstance(item, InferenceError):
                    raise item
                if isinstance(item, Mapping):
                    yield item
        finally:
            left.set()
            work.cancel()

    async def aclose(self) -> None:
        """Stop what runs and give the memory back."""
        if self._closing.is_set():
            return
        self._closing.set()
        await asyncio.shield(asyncio.wrap_future(self._line.submit(self._servers.clear)))

    def _load(self, threads: int | None) -> None:
        try:
            _read_through(self._path)
            with TemporaryDirectory(prefix="bumble-") as folder:
                server: _Server = _make_server(self._params(threads, str(Path(folder) / "engine.sock")))
        except OSError as error:
            raise InvalidRequest(f"llama.cpp cannot run {self._path}: {error}") from error
        except RuntimeError as error:
            raise InvalidRequest(
                f"llama.cpp cannot run {self._path}: the file is damaged, of an unknown kind or too large"
            ) from error
        server.handle_metrics()  # its loop answers, so it has begun: one told to end before that never ends
        self._servers.append(server)

    def _params(self, threads: int | None, socket: str) -> Any:
        """Return what llama.cpp is started with.

        Its server cannot be kept from listening: it gets a socket in a folder that only this user may enter and
        that is gone when the model is loaded, and a key that nobody knows.
        """
        with _patient_threads():
            params = _make_params()
        params.model.path = str(self._path)
        params.n_ctx = self.window
        params.n_parallel = 1
        params.n_batch = _BATCH
        params.cache_ram_mib = _PROMPT_CACHE_MIB
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or -1
        params.fit_params = any(device["type"] != 0 for device in _devices())  # a trial load, of use to GPUs only
        params.warmup = False
        params.verbosity = -1
        params.hostnames = [socket if len(os.fsencode(socket)) < _LONGEST_ADDRESS else "127.0.0.1"]
        params.api_keys = [secrets.token_urlsafe(32)]
        params.cors_origins = ""
        params.ui = False
        params.endpoint_slots = False
        params.endpoint_metrics = True
        return params

    def _answer(self, body: Mapping[str, Any], tell: Callable[[_Item], None], left: threading.Event) -> None:
        def take(chunk: Chunk) -> bool:
            """Pass a chunk on, or tell the engine to stop."""
            if self._is_over(left):
                return True
            tell(chunk)
            return False

        try:
            tell(_Started())
            if self._servers and not self._is_over(left):
                self._servers[0].handle_chat_completions({**body, "stream": True, "return_progress": True}, take)
            tell(_Ended())
        except (ValueError, RuntimeError) as error:
            tell(InvalidRequest(f"llama.cpp does not accept the request: {error}"))
        except Exception as error:
            tell(Overloaded(f"llama.cpp failed: {error}"))

    def _is_over(self, left: threading.Event) -> bool:
        """True when nobody waits for the answer any more."""
        return left.is_set() or self._closing.is_set() or is_ending()


async def _next(items: asyncio.Queue[_Item], limit_s: float, phase: Literal["first_byte", "between_bytes"]) -> _Item:
    try:
        async with asyncio.timeout(limit_s):
            return await items.get()
    except TimeoutError as error:
        raise TimedOut(f"the engine gave nothing for {limit_s:.0f} s", phase) from error


@contextmanager
def _patient_threads() -> Iterator[None]:
    """Have the engine, which is imported inside, put threads to sleep that wait for each other.

    OpenMP reads this once, when it is loaded. Its default is to spin, and with other work on the same two cores a
    token then takes 0.4 s in place of 0.02 s.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        yield
    finally:
        os.environ.pop("OMP_WAIT_POLICY", None)


def _read_through(path: Path) -> None:
    """Have the file in the system's memory, so that building the model waits for no disk."""
    with path.open("rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass

"""Run a real OpenAI-compatible server, llama.cpp's own, for as long as a test needs it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..deferred import Deferred


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaServer:
    """Where the server listens, what its model is called and the key it wants."""

    base_url: str
    model: str
    api_key: str


@contextmanager
def llama_server(model_file: Path, *, context_tokens: int = 4096, threads: int = 1) -> Iterator[LlamaServer]:
    """Serve a GGUF file on a free port of the loopback interface.

    The server lives in this process, in threads of its own; it needs `xllamacpp`, which the extra `local` brings.
    `bumble_local.pull("smollm2")` gives a small file to serve. One thread is the steadiest on a busy machine: several
    wait for each other after every layer.

    Raises:
        ModuleNotFoundError: `xllamacpp` is not installed.
        RuntimeError: the file cannot be served.
    """
    key = secrets.token_urlsafe(16)
    params = Deferred("xllamacpp:CommonParams", needs=("xllamacpp",))()
    params.model.path = str(model_file)
    params.model_alias = {model_file.stem}
    params.n_ctx = context_tokens
    params.n_batch = 64  # a client that goes away is noticed between two batches
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.fit_params = params.warmup = params.ui = False
    params.endpoint_metrics = True
    params.verbosity = -1
    params.api_keys = [key]
    params.cors_origins = ""
    server = Deferred("xllamacpp:Server", needs=("xllamacpp",))(params)
    server.handle_metrics()  # its loop answers, so it has begun: a server that is told to end before that never ends
    try:
        yield LlamaServer(base_url=f"{server.listening_address}/v1", model=model_file.stem, api_key=key)
    finally:
        del server

"""The llama.cpp server that tests run against."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest
from bumble_local import pull

from bumble_core.testing.llama_server import LlamaServer, llama_server

pytestmark = pytest.mark.slow


def ask(
    server: LlamaServer, path: str, body: dict[str, object] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, object]:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(
        f"{server.base_url}{path}", data, {"Content-Type": "application/json", **(headers or {})}
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert not reply.headers["Access-Control-Allow-Origin"]
        answer: dict[str, object] = json.load(reply)
    return answer


def test_it_answers_who_has_the_key_under_the_name_it_gives() -> None:
    with llama_server(pull("smollm2"), context_tokens=512) as server:
        authorization = {"Authorization": f"Bearer {server.api_key}", "Origin": "http://other.example"}
        body = {"model": server.model, "max_tokens": 4, "messages": [{"role": "user", "content": "Hi"}]}
        reply = ask(server, "/chat/completions", body, authorization)
        listed = ask(server, "/models", headers=authorization)
    assert reply["model"] == server.model
    assert server.model in json.dumps(listed)
    assert server.base_url.startswith("http://127.0.0.1:")


def test_it_refuses_who_has_no_key() -> None:
    with llama_server(pull("smollm2"), context_tokens=512) as server:
        with pytest.raises(urllib.error.HTTPError, match="401") as caught:
            ask(server, "/models")
        caught.value.close()


def test_it_is_gone_afterwards() -> None:
    with llama_server(pull("smollm2"), context_tokens=512) as server:
        pass
    with pytest.raises(urllib.error.URLError, match="refused"):
        ask(server, "/models")


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.gguf"
    path.write_text("hello")
    with pytest.raises(RuntimeError, match="Failed to init server"), llama_server(path):
        pass

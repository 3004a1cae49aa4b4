"""What servers say went wrong becomes the error that a caller can act on."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from bumble_core.errors import (
    AuthenticationError,
    ContextOverflow,
    Filtered,
    InferenceError,
    InvalidRequest,
    ModelMissing,
    Overloaded,
    RateLimited,
    TimedOut,
)
from bumble_core.http import Server, failure
from tests.http.streams import case

SERVER = Server(name="openai", address="h:1", key_hint="set `OPENAI_API_KEY`", models_hint="get it with `pull {model}`")


def openai(message: str, code: object = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


_LM_STUDIO = (
    "Trying to keep the first 6269 tokens. However, the model is loaded with context length of only 4096 tokens"
)
_OPENAI = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
_VLLM = "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens"
_VLLM_PROMPT = "The prompt (total length 5000) is too long to fit into the model (context length 4096)."
_VLLM_DECODER = "The decoder prompt (length 5000) is longer than the maximum model length of 4096."
_LLAMA = "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"
_OPENROUTER = "This endpoint's maximum context length is 131,072 tokens. However, you requested about 200000 tokens"
_ANTHROPIC = "prompt is too long: 213462 tokens > 200000 maximum"
_GEMINI = "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."
_XAI = "This model's maximum prompt length is 131072 but the request contains 537812 tokens."
_GROQ = "Please reduce the length of the messages or completion."
_GROQ_LIMIT = "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000"
_MISTRAL = "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"
_SGLANG = "The input (5000 tokens) is longer than the model's context length (4096 tokens)."
OVERFLOWS: dict[str, tuple[int | None, Any, int | None]] = {
    "openai": (400, openai(_OPENAI, "context_length_exceeded"), 8192),
    "openai-new": (400, openai("Your input exceeds the context window of this model."), None),
    "vllm": (400, {"object": "error", "message": _VLLM, "code": 400}, 16384),
    "vllm-prompt": (400, {"object": "error", "message": _VLLM_PROMPT}, 4096),
    "vllm-decoder": (400, openai(_VLLM_DECODER), 4096),
    "llama.cpp": (400, openai(_LLAMA, 400, "exceed_context_size_error"), 4096),
    "llama.cpp-old": (500, openai("Context size has been exceeded.", 500, "server_error"), None),
    "llama.cpp-python": (400, openai("Requested tokens (2285) exceed context window of 2048"), 2048),
    "ollama": (400, {"error": "the input length exceeds the context length"}, None),
    "lm-studio": (400, {"error": _LM_STUDIO}, 4096),
    "openrouter": (400, {"error": {"code": 400, "message": _OPENROUTER}}, 131072),
    "litellm": (400, openai(f"litellm.ContextWindowExceededError: {_ANTHROPIC}", "400"), 200000),
    "anthropic": (400, {"type": "error", "error": {"type": "invalid_request_error", "message": _ANTHROPIC}}, 200000),
    "gemini": (400, [{"error": {"code": 400, "message": _GEMINI}}], 1048575),
    "xai": (400, {"error": _XAI}, 131072),
    "groq": (400, openai(_GROQ), None),
    "groq-limit": (413, openai(_GROQ_LIMIT, "rate_limit_exceeded", "tokens"), None),
    "mistral": (400, {"message": _MISTRAL}, 32768),
    "sglang": (400, openai(_SGLANG), 4096),
    "openai-limit": (429, openai(_GROQ_LIMIT, "rate_limit_exceeded", "tokens"), None),
    "in-a-stream": (None, openai(_LLAMA, 400, "exceed_context_size_error"), 4096),
}


@pytest.mark.parametrize(("status", "payload", "window"), OVERFLOWS.values(), ids=OVERFLOWS.keys())
def test_an_overflow_is_known_in_the_words_of_each_server(status: int | None, payload: Any, window: int | None) -> None:
    error = failure(SERVER, status, json.dumps(payload))
    assert isinstance(error, ContextOverflow)
    assert error.window == window


@pytest.mark.parametrize("row", case("H07")["given"]["rows"], ids=lambda row: row["name"])
def test_h07_an_overflow_is_told_from_another_refusal(row: dict[str, Any]) -> None:
    error = failure(SERVER, row["status"], row["body"])
    assert isinstance(error, ContextOverflow if row["overflow"] else InvalidRequest)
    assert not error.is_retryable
    if isinstance(error, ContextOverflow) and row["status"] == 400:
        assert error.window == 8192


ROWS: dict[str, tuple[int | None, Any, type[InferenceError], str]] = {
    "unauthorized": (401, openai("bad key"), AuthenticationError, "OPENAI_API_KEY"),
    "forbidden": (403, "<html><title>Blocked</title></html>", AuthenticationError, "titled “Blocked”"),
    "no-credit": (402, openai("Insufficient credits"), AuthenticationError, "no credit"),
    "quota": (429, openai("You exceeded your current quota", "insufficient_quota"), AuthenticationError, "no credit"),
    "limited": (429, openai("slow down", "rate_limit_exceeded"), RateLimited, "slow down"),
    "azure-filter": (400, openai("The response was filtered", "content_filter"), Filtered, "filtered"),
    "openrouter-filter": (403, {"error": {"code": 403, "message": "Your input was flagged"}}, Filtered, "flagged"),
    "no-model": (404, openai("The model `x` does not exist", "model_not_found"), ModelMissing, "pull mini"),
    "ollama-model": (404, {"error": 'model "mini" not found, try pulling it first'}, ModelMissing, "pull mini"),
    "openrouter-model": (400, openai("mini is not a valid model ID", 400), ModelMissing, "pull mini"),
    "no-path": (404, "404 page not found", InvalidRequest, "check `base_url`"),
    "fastapi": (
        422,
        {"detail": [{"loc": ["body", "stream_options"], "msg": "extra"}]},
        InvalidRequest,
        "stream_options",
    ),
    "moved": (301, "", InvalidRequest, "redirects"),
    "not-implemented": (501, "", InvalidRequest, "without a word"),
    "timeout": (408, "", TimedOut, "408"),
    "gateway-timeout": (504, "", Overloaded, "504"),
    "loading": (503, openai("Loading model", 503, "unavailable_error"), Overloaded, "Loading model"),
    "anthropic-busy": (529, {"type": "error", "error": {"type": "overloaded_error"}}, Overloaded, "overloaded_error"),
    "stream-status": (None, {"error": {"message": "upstream", "code": 503}}, Overloaded, "HTTP 503"),
    "stream-text": (None, {"error": "runner has stopped"}, Overloaded, "runner has stopped"),
    "stream-limit": (None, openai("slow", None, "rate_limit_error"), RateLimited, "slow"),
    "list": (400, [], InvalidRequest, "without a word"),
    "number": (500, "7", Overloaded, "7"),
}


@pytest.mark.parametrize(("status", "payload", "kind", "match"), ROWS.values(), ids=ROWS.keys())
def test_a_refusal_becomes_what_the_caller_can_do(
    status: int | None, payload: Any, kind: type[InferenceError], match: str
) -> None:
    error = failure(SERVER, status, payload, model="mini")
    assert type(error) is kind
    assert match in str(error)


def test_h08_a_page_of_html_is_never_quoted() -> None:
    error = failure(SERVER, 502, "<html><body>" + "<p>bad gateway</p>" * 3000 + "</body></html>")
    assert isinstance(error, Overloaded)
    assert error.is_retryable
    assert "502" in str(error)
    assert "<p>" not in str(error)
    assert len(str(error)) <= 400


def test_long_words_of_a_server_are_cut() -> None:
    assert len(str(failure(SERVER, 500, "x" * 5000))) < 400


def test_a_secret_is_hidden_in_every_form() -> None:
    secret = "pass/word+1"
    forms = (secret, base64.b64encode(secret.encode()).decode(), quote(secret, safe=""))
    error = failure(Server(name="s", secrets=(secret,)), 401, openai(" ".join(forms)))
    assert not any(form in str(error) for form in forms)
    assert "***" in str(error)


def test_a_server_does_not_show_its_secrets() -> None:
    assert "hunter2" not in repr(Server(name="s", secrets=("hunter2",)))

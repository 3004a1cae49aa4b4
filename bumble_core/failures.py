"""Turn what a server says went wrong into the error that a caller can act on.

Pure: statuses, headers' values and bodies go in, an `InferenceError` comes out. No message repeats a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import (
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
from .servers import Server

# Read without regard to case. Compiled at the first failure, which most processes never see.
# How the servers say that a request is too long, gathered from their sources and from reports of 2024 to 2026:
# OpenAI and vLLM, llama.cpp, LM Studio, Ollama, Anthropic, Gemini, xAI, Groq, Mistral, Bedrock, SGLang, TGI.
_OVERFLOW = (
    r"context[_ ]length[_ ]exceeded|context_window_exceeded|ContextWindowExceeded|exceed_context_size"
    r"|maximum context length|max(?:imum)? context (?:length|size|window)|maximum model length|maximum prompt length"
    r"|exceeds? (?:the )?(?:available |model'?s? )?context|context (?:size|window|length) (?:has been |was )?exceed"
    r"|(?:greater|longer|larger) than the (?:model'?s? )?context|context length of only|context window exceeds"
    r"|prompt is too long|prompt too long|input is too long|too long to fit into the model"
    r"|input token count.{0,40}exceeds|input tokens? exceeds?|exceeded model token limit|token limit exceeded"
    r"|exceeds the limit of \d+|reduce the length of the (?:messages|prompt)|too many tokens|too large for model with"
    r"|`inputs` tokens \+ `max_new_tokens`|exceeds? max(?:_model_len|imum (?:number of )?(?:input )?tokens)"
)
_WINDOW = (
    r"context (?:length|size|window)(?: of| is| limit(?: of)?)?(?: only)?\D{0,3}(\d[\d,]{2,})",
    r"maximum (?:model|prompt) length (?:of|is) (\d[\d,]{2,})",
    r"too large for model with (\d[\d,]{2,})",
    r">\s*(\d[\d,]{2,}) maximum",
    r"maximum number of (?:input )?tokens allowed \((\d[\d,]{2,})\)",
    r"exceeds the limit of (\d[\d,]{2,})",
    r"window (?:holds|of) (\d[\d,]{2,})",
    r"must be <= (\d[\d,]{2,})",
)
_FILTER = r"content[_ ](?:filter|policy|management)|responsibleai|moderation|was flagged|safety system"
_NO_CREDIT = r"insufficient[_ ](?:quota|credit|balance|funds)|exceeded your current quota|billing"
_NO_MODEL = (
    r"model[_ ]not[_ ]found|not_found_error|no such model|unknown model|invalid model|not a valid model"
    r"|model\b.{0,120}\b(?:not found|does not exist|not exist|not available|not loaded)"
)
_TOO_LARGE_FOR_LIMIT = r"request too large"
_NO_PARAMETER = r"unsupported param|param requires"  # llama.cpp, with the status 500
_TITLE = r"<title[^>]*>(.*?)</title>"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What a server said about a failure, whatever shape it chose."""

    message: str
    codes: str = ""
    status: int | None = None
    window: int | None = None

    @property
    def all(self) -> str:
        return f"{self.codes} {self.message}"


def failure(
    server: Server,
    status: int | None,
    payload: object,
    *,
    model: str = "",
    retry_after_s: float | None = None,
) -> InferenceError:
    """Return the error that `payload` stands for.

    `payload` is a parsed JSON body, or text; `status` is None for an error inside a stream, which may carry a status
    of its own.
    """
    said = _read(payload)
    status = status if status is not None and status >= 300 else said.status
    where = f"HTTP {status}" if status else "an error"
    text = f"{server} answered {where}: {server.quoted(said.message) or 'without a word'}"
    models = server.models_hint.format(model=model)
    return (
        _content_problem(status, said, text)
        or _account_problem(status, said, text, server.key_hint)
        or _request_problem(status, said, text, models)
        or _trouble(status, said, text, retry_after_s)
    )


def _content_problem(status: int | None, said: _Said, text: str) -> InferenceError | None:
    if status in (None, 400, 403, 422) or (status or 0) >= 500:
        if status != 403 and _found(_OVERFLOW, said.all):
            return ContextOverflow(text, said.window or _window(said.message))
        if _found(_FILTER, said.all):
            return Filtered(text)
    if status == 413 or (status == 429 and _found(_TOO_LARGE_FOR_LIMIT, said.message)):
        return ContextOverflow(text, said.window or (_window(said.message) if status == 413 else None))
    return None


def _account_problem(status: int | None, said: _Said, text: str, key_hint: str) -> InferenceError | None:
    if status == 402 or (status in (None, 403, 429) and _found(_NO_CREDIT, said.all)):
        return AuthenticationError(f"{text}; the account behind the key has no credit left")
    if status in (401, 403) or (status is None and "authentication_error" in said.codes):
        return AuthenticationError(f"{text}; {key_hint}")
    return None


def _request_problem(status: int | None, said: _Said, text: str, models: str) -> InferenceError | None:
    if status in (None, 400, 404, 422) and _found(_NO_MODEL, said.all):
        return ModelMissing(f"{text}; {models}")
    if status is None:
        return InvalidRequest(text) if "invalid_request" in said.codes else None
    if status == 404:
        return InvalidRequest(f"{text}; check `base_url`, and the model: {models}")
    if status < 400:
        return InvalidRequest(f"{text}; `base_url` should name the address it redirects to")
    if status == 501 or (status == 500 and _found(_NO_PARAMETER, said.message)):
        return InvalidRequest(text)
    return InvalidRequest(text) if status < 500 and status not in (408, 429) else None


def _trouble(status: int | None, said: _Said, text: str, retry_after_s: float | None) -> InferenceError:
    """Return the error for what may pass."""
    if status == 408:
        return TimedOut(text, "first_byte")
    if retry_after_s is not None:
        text = f"{text}; it asks to wait {retry_after_s:g} s"
    if status == 429 or (status is None and "rate_limit" in said.codes):
        return RateLimited(text, retry_after_s)
    return Overloaded(text, retry_after_s)


def _read(payload: object) -> _Said:
    """Read `{error: {…}}`, `{error: text}`, `{detail: …}`, `{message: …}`, a list of them, text or HTML."""
    if isinstance(payload, str):
        parsed = _parsed(payload)
        return _Said(message=_plain(payload)) if parsed is None else _read(parsed)
    if isinstance(payload, list) and payload:
        return _read(payload[0])
    return _read_object(payload) if isinstance(payload, Mapping) else _Said(message="")


def _read_object(payload: Mapping[str, object]) -> _Said:
    inner = next((payload[key] for key in ("error", "detail", "message") if payload.get(key)), None)
    if isinstance(inner, Mapping):
        return _said(inner, _words(inner))
    if isinstance(inner, str):
        nested = _parsed(inner)
        return _read_object(nested) if isinstance(nested, dict) else _said(payload, inner)
    return _said(payload, json.dumps(inner or payload, ensure_ascii=False, default=str))


def _words(error: Mapping[str, object]) -> str:
    """Return the message of an error object and, where a proxy passes it on, the upstream server's own."""
    message = error.get("message") or error.get("type") or error.get("code") or ""
    metadata = error.get("metadata")
    upstream = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{message}: {upstream}" if upstream else str(message)


def _said(error: Mapping[str, object], message: str) -> _Said:
    code, n_ctx = error.get("code"), error.get("n_ctx")
    status = int(code) if isinstance(code, int | str) and str(code).isdigit() and 300 <= int(code) < 600 else None
    named = (error.get("type"), code, error.get("status"))
    return _Said(
        message=message,
        codes=" ".join(str(name) for name in named if name is not None),
        status=status,
        window=n_ctx if isinstance(n_ctx, int) and n_ctx > 0 else None,
    )


def _found(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL)


def _window(message: str) -> int | None:
    found = next((match for pattern in _WINDOW if (match := _found(pattern, message))), None)
    return int(found[1].replace(",", "")) if found else None


def _parsed(text: str) -> object | None:
    try:
        parsed: object = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
    return parsed


def _plain(text: str) -> str:
    """Return a page's title in place of the page."""
    if text.lstrip()[:1] != "<":
        return text
    title = _found(_TITLE, text)
    return f"an HTML page titled “{title[1].strip()}”" if title else "an HTML page"

"""Which values are masked before anything is printed."""

from __future__ import annotations

import pytest

from bumble_core.secrecy import masked


@pytest.mark.parametrize(
    "name",
    ["api_key", "apikey", "apiKey", "token", "access_token", "X-Api-Key", "Authorization", "client_secret", "PASSWORD"],
)
def test_values_of_keys_that_sound_secret_are_masked(name: str) -> None:
    assert masked({name: "hunter2", "deep": {name: ["hunter2", {"x": 3}]}}) == {
        name: "***", "deep": {name: ["***", {"x": "***"}]},
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["api_key_env", "api_key_file", "max_tokens", "max_context_tokens", "token_counter", "monkey"]
)
def test_values_of_other_keys_are_shown(name: str) -> None:
    assert masked("value", name) == "value"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://u:hunter2@host/path", "https://u:***@host/path"),
        ("https://:hunter2@host", "https://:***@host"),
        ("https://host/?a=1&api_key=hunter2#x", "https://host/?a=1&api_key=***#x"),
        ("Authorization: Bearer hunter2", "Authorization: Bearer ***"),
        ("use sk-proj-hunter2hunter2", "use ***"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        ("ollama:qwen3:8b", "ollama:qwen3:8b"),
    ],
    ids=["password", "no-name", "query", "header", "key", "port", "model"],
)
def test_secrets_inside_of_texts_are_masked(text: str, shown: str) -> None:
    assert masked(text, "address") == shown

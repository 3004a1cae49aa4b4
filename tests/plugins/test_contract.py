"""The shipped providers pass the conformance suite that anyone's provider is held to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bumble_local import LocalConfig, LocalPlugin, pull
from bumble_ollama import OllamaConfig, OllamaPlugin
from bumble_openai import OpenAIConfig, OpenAIPlugin
from typing_extensions import override

from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.ports import Provider
from bumble_core.testing import OLLAMA, LiveProviderContract, ProviderContract, StillClock
from bumble_core.testing.llama_server import llama_server
from tests.http.asking import NO_HOME


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


class TestOpenAI(ProviderContract):
    @override
    def make(self, url: str, key: str) -> Provider:
        config = OpenAIConfig(base_url=f"{url}/v1", retry_attempts=1, headers={"Authorization": f"Bearer {key}"})
        return OpenAIPlugin(config).bumble_providers(home=NO_HOME, files=SystemFiles(), clock=StillClock())[0]


class TestOllama(ProviderContract):
    wire = OLLAMA

    @override
    def make(self, url: str, key: str) -> Provider:
        config = OllamaConfig(base_url=url, retry_attempts=1, headers={"Authorization": f"Bearer {key}"})
        return OllamaPlugin(config).bumble_providers(home=NO_HOME, files=SystemFiles(), clock=StillClock())[0]


@pytest.mark.slow
class TestLocal(LiveProviderContract):
    model = "smollm2"

    @override
    def make(self, url: str, key: str) -> Provider:
        pull(self.model)
        return LocalPlugin(LocalConfig(threads=1)).bumble_providers()[0]


@pytest.mark.slow
class TestOpenAIWithLlamaServer(LiveProviderContract):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _server(cls) -> Iterator[None]:
        with llama_server(pull("smollm2"), context_tokens=2048) as served:
            cls.url, cls.key, cls.model = served.base_url, served.api_key, served.model
            yield

    @override
    def make(self, url: str, key: str) -> Provider:
        config = OpenAIConfig(base_url=url, headers={"Authorization": f"Bearer {key}"})
        return OpenAIPlugin(config).bumble_providers(home=NO_HOME, files=SystemFiles(), clock=SystemClock())[0]

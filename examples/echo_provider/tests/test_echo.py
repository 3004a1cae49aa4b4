"""The provider does what every provider must."""

from __future__ import annotations

from bumble_echo import EchoConfig, EchoPlugin
from typing_extensions import override

from bumble_core.ports import Provider
from bumble_core.testing import CHAT, ProviderContract, StillClock


class TestEcho(ProviderContract):
    wire = CHAT

    @override
    def make(self, url: str, key: str) -> Provider:
        config = EchoConfig(base_url=url, headers={"Authorization": f"Bearer {key}"}, retry_attempts=1)
        return EchoPlugin(config).bumble_providers(StillClock())[0]

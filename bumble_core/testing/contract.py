"""The conformance suite of providers: what each must make of whatever its server sends.

    class TestMine(ProviderContract):
        wire = CHAT

        def make(self, url: str, key: str) -> Provider:
            return MyProvider(url, key)

Let the provider ask once, or wait on a `StillClock`: the suite sends errors that a provider may ask again after.
"""

from __future__ import annotations

from .answer_contract import AnswerContract
from .failure_contract import FailureContract


class ProviderContract(AnswerContract, FailureContract):
    """Tries a provider against a server that plays scripted replies.

    `wire` is the shape that the provider reads: `CHAT`, `OLLAMA`, or one of your own.
    """

"""What a plugin author needs for tests: a scripted model, a chat, stub servers, and checks of what is sent to them."""

from __future__ import annotations

from .chat_surface import ChatSurface
from .clock import StillClock
from .contract import ProviderContract
from .imitations import IMITATIONS
from .job_contract import JobContract
from .judge_contract import JudgeContract
from .live_contract import LiveProviderContract
from .memory_documents import MemoryDocuments
from .phase_contract import CompactionPhaseContract
from .requests import RequestChecker, check_history, check_prefix, check_request, flatten
from .router_contract import RouterContract, asked
from .scripted import BrokenScript, Reply, ScriptedProvider
from .stub_server import Pause, StubReply, StubRequest, StubServer
from .wires import CHAT, OLLAMA, Wire

__all__ = [
    "CHAT",
    "IMITATIONS",
    "OLLAMA",
    "BrokenScript",
    "ChatSurface",
    "CompactionPhaseContract",
    "JobContract",
    "JudgeContract",
    "LiveProviderContract",
    "MemoryDocuments",
    "Pause",
    "ProviderContract",
    "Reply",
    "RequestChecker",
    "RouterContract",
    "ScriptedProvider",
    "StillClock",
    "StubReply",
    "StubRequest",
    "StubServer",
    "Wire",
    "asked",
    "check_history",
    "check_prefix",
    "check_request",
    "flatten",
]

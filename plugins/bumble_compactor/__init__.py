"""Four phases: keep the facts, clear old tool output, find the middle, summarise it."""

from __future__ import annotations

from bumble_core import PluginConfig, Settings, hookimpl
from bumble_core.ports import Documents, Inference, Phase

from .bounds import FindBounds
from .flush import Flush
from .prune import Prune
from .summarise import Summarise


class CompactorPlugin:
    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl(trylast=True)
    def bumble_compaction_phases(self, inference: Inference, documents: Documents, settings: Settings) -> list[Phase]:
        compression = settings.cognition.history_compression
        first, last = compression.compaction_protect_first_n, compression.compaction_protect_last_n
        return [
            Flush(inference, documents, first, last, is_on=compression.compaction_flush_to_knowledge),
            Prune(last),
            FindBounds(first, last),
            Summarise(inference),
        ]

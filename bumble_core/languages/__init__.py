"""Words and phrases of many languages: read from files, and found in a text."""

from __future__ import annotations

from .lexicon import Lexicon, Match, folded, words
from .packs import merged, read_packs

__all__ = ["Lexicon", "Match", "folded", "merged", "read_packs", "words"]

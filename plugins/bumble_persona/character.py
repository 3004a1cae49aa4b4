"""What the configuration says of an entity, as lines of text. No I/O."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

from bumble_core.types.settings import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Character:
    """`told` and `voice` are labelled lines; what the configuration leaves empty is in neither."""

    name: str
    told: tuple[tuple[str, str], ...]
    voice: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, agent: Agent) -> Self:
        who, voice = agent.personality, agent.voice
        told = (
            ("", who.description),
            ("I am", _listed(who.traits)),
            ("What matters to me", _listed(who.values)),
            ("What I tend to do", _listed(who.habits)),
            ("Where I come from", agent.backstory),
        )
        spoken = (
            ("tone", voice.tone),
            ("words", voice.vocabulary),
            ("sentences", voice.sentences),
            ("humour", voice.humour),
            *(("again and again", quirk) for quirk in voice.quirks),
            *(("never", avoided) for avoided in voice.avoids),
        )
        return cls(name=agent.name, told=_filled(told), voice=_filled(spoken))

    @property
    def is_told(self) -> bool:
        return bool(self.told)

    def fingerprint(self, mood: str) -> str:
        """Return what a monologue depends on, as SHA-256 in hex."""
        return hashlib.sha256(repr((self.name, self.told, self.voice, mood)).encode("utf-8", "replace")).hexdigest()

    def monologue(self, mood: str) -> str:
        """Return who the entity is, told by itself."""
        lines = [f"My name is {self.name}."]
        lines += [f"{label}: {text}" if label else text for label, text in self.told]
        lines += [f"Right now my spirits are {mood}."] if mood else []
        return "\n".join(lines)

    def rules(self) -> str:
        return "\n".join(f"- {label}: {text}" for label, text in self.voice)


def _filled(lines: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((label, text.strip()) for label, text in lines if text.strip())


def _listed(texts: tuple[str, ...]) -> str:
    return "; ".join(text.strip() for text in texts if text.strip())

"""Three ways to summarise: one that knows what will be asked, one that picks sentences, and a real model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence

from benchmarks.compaction.sessions import Question
from bumble_core.types.inference import Completion, Delta, ModelRef, Request
from bumble_core.types.messages import assistant

MODEL = ModelRef(provider="benchmark", model="none")
_WORDS = re.compile(r"at most (\d+) words")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_WORD = re.compile(r"[\w/@.-]{2,}|[\u3400-\u9fff]")
_SAID = re.compile(r"^(user|assistant): ")
_LONGEST_SENTENCE = 300  # characters


class Summariser:
    """Answers requests of the compactor with what `write` makes of the material and the number of words asked for."""

    def __init__(self, write: Callable[[str, int], str]) -> None:
        self._write = write

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        text = request.messages[-1].text
        found = _WORDS.search(text)
        said = self._write(text, int(found[1])) if found else "[]"
        yield Completion(message=assistant(said), finish="stop", model=MODEL)


def ideal(questions: Sequence[Question]) -> Summariser:
    """Return one that keeps every answer that it is shown, and nothing else: what is lost then is lost by others."""

    def write(text: str, words: int) -> str:
        folded = text.casefold()
        kept = [a for q in questions for a in q.answers if a.casefold() in folded]
        return "Critical Context:\n" + "\n".join(f"- {answer}" for answer in dict.fromkeys(kept))

    return Summariser(write)


def extractive() -> Summariser:
    """Return one that keeps whole sentences: those with the rarest words, what people and model said before outputs."""
    return Summariser(_extract)


def _extract(text: str, words: int) -> str:
    """Choose sentences up to so many words; their order stays."""
    material = [line for line in text.splitlines()[4:] if not line.startswith("<<<")]
    sentences: dict[str, bool] = {}
    for line in material:
        is_said = bool(_SAID.match(line)) or line.startswith("- ")
        for sentence in _SENTENCE.split(_SAID.sub("", line.removeprefix("- "))):
            if 20 <= len(sentence) <= _LONGEST_SENTENCE:
                sentences.setdefault(sentence.strip(), is_said)
    seen = Counter(word for sentence in sentences for word in set(_WORD.findall(sentence.casefold())))

    def worth(sentence: str) -> float:
        found = set(_WORD.findall(sentence.casefold()))
        rarity = math.fsum(math.log(len(sentences) / seen[word]) for word in found)
        return (3.0 if sentences[sentence] else 1.0) * rarity / (6 + len(found))

    chosen, left = set[str](), words
    for sentence in sorted(sentences, key=worth, reverse=True):
        size = max(len(sentence.split()), len(sentence) // 6)
        if size <= left:
            chosen.add(sentence)
            left -= size
    return "Critical Context:\n" + "\n".join(f"- {sentence}" for sentence in sentences if sentence in chosen)

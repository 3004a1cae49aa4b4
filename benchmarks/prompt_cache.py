"""How much of the prompts of a long session a real server takes from its cache.

    python -m benchmarks.prompt_cache [--turns N] [--quick] [--json]

Every request of a session with a character, a memory and a tool goes to llama.cpp's server with SmolLM2, which counts
what it took from its cache (`usage.prompt_tokens_details.cached_tokens`). It writes one token for each; in place of
that the session goes on with a scripted call or answer, so that all runs are the same session. `due` is what no cache
can spare, by the server's own tokenizer: what comes after what the request before had in front of its tail.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import urllib.request
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bumble_compactor import CompactorConfig, CompactorPlugin
from bumble_local import pull
from bumble_memory import MemoryConfig, MemoryPlugin
from bumble_openai import OpenAIConfig, OpenAIPlugin
from bumble_persona import PersonaPlugin
from bumble_router import RouterConfig, RouterPlugin

from bumble_core import PluginConfig, Runtime, Settings, ToolCall, assemble, assistant, hookimpl, tool
from bumble_core.ports import Inference, Judge, Tool
from bumble_core.testing import flatten
from bumble_core.testing.llama_server import LlamaServer, llama_server
from bumble_core.types.inference import Completion, Delta, Request
from bumble_core.types.turn import TurnContext, Verdict

_WINDOW = 8192
_MEMORY = {
    "knowledge.md": "## Boxes\n\nThe boxes stand in the northern shed, by number.\n",
    "working/WORKING_MEMORY.md": "## Active Tasks\n\n- Count what is in the boxes.\n",
    "skills/counting/SKILL.md": "---\nname: counting\ndescription: How boxes are counted.\n---\nOpen, count, close.\n",
}
_CHARACTER = {"personality": {"description": "A storekeeper who counts twice."}, "voice": {"tone": "brief"}}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: its tokens, how many came from the cache, and how many were due for processing."""

    tokens: int
    cached: int
    due: int


@dataclass(frozen=True, slots=True)
class Result:
    """All requests of a session. `share` is what came from the cache, after the first request."""

    turns: int
    requests: int
    tokens: int
    cached: int
    processed: int
    due: int
    share: float
    system_prompts: int


class Session:
    """Has each request counted by the server and answers it by the script: a call, then words."""

    def __init__(self, server: LlamaServer) -> None:
        self.asked: list[Asked] = []
        self._server = server
        self._before = ""

    def counted(self, inner: Inference) -> Inference:
        return _Counted(self, inner)

    def note(self, request: Request, completion: Completion) -> None:
        usage, text = completion.usage, _whole(request)
        new = text.removeprefix(self._before) if text.startswith(self._before) else text
        self._before = flatten(request)
        self.asked.append(Asked(usage.input_tokens, usage.cached_tokens, self._tokens(new)))

    def result(self, turns: int, system_prompts: int) -> Result:
        tokens, cached = sum(each.tokens for each in self.asked), sum(each.cached for each in self.asked)
        return Result(
            turns=turns,
            requests=len(self.asked),
            tokens=tokens,
            cached=cached,
            processed=tokens - cached,
            due=sum(each.due for each in self.asked),
            share=cached / (tokens - self.asked[0].tokens),
            system_prompts=system_prompts,
        )

    async def judge(self, turn: TurnContext) -> Verdict:
        return Verdict(done=True, decided_by="script", reason="the script is right")

    @hookimpl(wrapper=True)
    def bumble_inference(self) -> Generator[None, Inference, Inference]:
        inner = yield
        return self.counted(inner)

    @hookimpl
    def bumble_judge(self) -> Judge:
        return self

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        return [tool(open_box)]

    def _tokens(self, text: str) -> int:
        url = f"{self._server.base_url.removesuffix('/v1')}/tokenize"
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._server.api_key}"}
        request = urllib.request.Request(url, json.dumps({"content": text}).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return len(json.load(reply)["tokens"])


class _Counted:
    def __init__(self, session: Session, inner: Inference) -> None:
        self._session, self._inner = session, inner

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        short = request.model_copy(update={"profile": request.profile.model_copy(update={"max_tokens": 1})})
        async with aclosing(self._inner.stream(short)) as stream:
            async for item in stream:
                if isinstance(item, Completion):
                    await asyncio.to_thread(self._session.note, request, item)
                    yield _scripted(request, item)


def open_box(number: int) -> str:
    """Open a box and tell what is in it."""
    return f"Box {number} holds {number * 3} screws and {number % 5} keys."


def _scripted(request: Request, completion: Completion) -> Completion:
    questions = sum(message.role == "user" and message.text != request.tail for message in request.messages)
    if request.messages[-1].role == "user" and not _is_after_results(request):
        message = assistant("", ToolCall(name="open_box", arguments={"number": questions}))
        return completion.model_copy(update={"message": message, "finish": "tool_calls"})
    words = assistant(f"There are {questions * 3} screws in box {questions}. I counted them twice.")
    return completion.model_copy(update={"message": words, "finish": "stop"})


def _is_after_results(request: Request) -> bool:
    return len(request.messages) > 1 and request.messages[-2].role == "tool"


def _whole(request: Request) -> str:
    """Return a request as one text, its tail too."""
    return flatten(request.model_copy(update={"tail": ""}))


@contextmanager
def _agent(server: LlamaServer, session: Session) -> Iterator[Runtime]:
    with TemporaryDirectory() as home:
        for path, text in _MEMORY.items():
            file = Path(home, "memory", path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        os.environ["OPENAI_API_KEY"] = server.api_key
        nothing = PluginConfig()
        plugins = {
            "openai": OpenAIPlugin(OpenAIConfig(base_url=server.base_url)),
            "router": RouterPlugin(RouterConfig()),
            "compactor": CompactorPlugin(CompactorConfig()),
            "memory": MemoryPlugin(MemoryConfig()),
            "persona": PersonaPlugin(nothing),
            "session": session,
        }
        settings = Settings.model_validate(
            {
                "agent": {"models": [f"openai:{server.model}"], **_CHARACTER},
                "cognition": {"max_context_tokens": _WINDOW},
                "home": home,
            }
        )
        yield assemble(settings, plugins=plugins, discovers=False, run_jobs=False)


async def measure(turns: int) -> Result:
    """Play a session of so many turns, two requests each."""
    with llama_server(pull("smollm2"), context_tokens=_WINDOW) as server:
        session = Session(server)
        with _agent(server, session) as runtime:
            async with runtime:
                fingerprints = {(await runtime.answer(f"What is in box {n}?")).prompt for n in range(1, turns + 1)}
    return session.result(turns, len(fingerprints))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=50, help="how long the session is")
    parser.add_argument("--quick", action="store_true", help="three turns, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    chosen = parser.parse_args()
    found = asyncio.run(measure(3 if chosen.quick else chosen.turns))
    if chosen.json:
        print(json.dumps([asdict(found)]))
        return
    for name, value in asdict(found).items():
        print(
            f"{name.replace('_', ' '):15} {value:10.3f}"
            if name == "share"
            else f"{name.replace('_', ' '):15} {value:10}"
        )


if __name__ == "__main__":
    main()

"""A model that does what the user's words say, as the plugin `owl` of a distribution of its own."""

from __future__ import annotations

from tests.installed import Installed

ONLY_THE_CONVERSATION = "gate: {policy: heuristics}\nplugins: {disabled: [jobs], router: {classifier: false}}\n"

OWL = """
import asyncio
import sys
from types import ModuleType

import bumble_core

package = ModuleType("bumble_core.testing")  # without what else that package imports, in every process
package.__path__ = [f"{bumble_core.__path__[0]}/testing"]
sys.modules.setdefault("bumble_core.testing", package)
from bumble_core import ToolCall, ToolResult, assistant, hookimpl
from bumble_core.errors import ModelMissing, Overloaded
from bumble_core.testing.requests import RequestChecker
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, ToolSpec


class Owl:
    name = "owl"

    def __init__(self):
        self._checker = RequestChecker()

    async def models(self):
        return (ModelInfo(ref=ModelRef(provider="owl", model="wise"), context_window=8192, size=98_000_000),)

    async def stream(self, request, model):
        self._checker.check(request)
        spoken = [(at, m.text.partition("\\n\\n[Turn context]")[0]) for at, m in enumerate(request.messages)
                  if m.role == "user" and not m.text.startswith("[")]
        at, text = spoken[-1]
        words = text.rpartition("\\n\\n")[2]
        answered = any(m.role == "tool" for m in request.messages[at:])
        message = assistant(f"{model} heard: {request.messages[-1].text}")
        if "Summarise the record" in text:
            message = assistant("Goal: talk with the owl. Progress: the owl was told much and heard all of it.")
        elif "extract facts" in text:
            message = assistant("[]")
        elif words == "slow":
            for number in range(300):
                yield Delta(text=f"word{number} ")
                await asyncio.sleep(0.1)
        elif words == "busy":
            raise Overloaded("the server is too busy")
        elif words.startswith("say "):
            message = assistant(words[4:].encode("latin-1", "backslashreplace").decode("unicode_escape"))
        elif words == "count":
            message = assistant(f"{sum(m.role == 'user' for m in request.messages)} messages of yours")
        elif words in ("note", "ask", "hang") and not answered:
            message = assistant("I note it. ", ToolCall(name=f"{words}_owl", arguments={"text": "Uhu!"}))
        yield Delta(text=message.text)
        finish = "tool_calls" if message.tool_calls else "stop"
        yield Completion(message=message, finish=finish, model=ModelRef(provider="owl", model=model))

    async def pull(self, model, report):
        if model not in ("wise", "large"):
            raise ModelMissing(f"the owl has no model `{model}`")
        for tenth in range(11):
            report(tenth * 10_000_000, 100_000_000)
            await asyncio.sleep(0 if model == "wise" else 2)


class Note:
    is_work = True

    def __init__(self, name):
        parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
        self.spec = ToolSpec(name=name, description="Notes a text.", parameters=parameters)

    async def call(self, call, turn):
        if call.name == "hang_owl":
            await asyncio.sleep(30)
        return ToolResult(call_id=call.id, name=call.name, content="noted")


class OwlPlugin:
    def __init__(self, config):
        pass

    @hookimpl
    def bumble_providers(self):
        return [Owl()]

    @hookimpl
    def bumble_tools(self):
        return [Note("note_owl"), Note("ask_owl"), Note("hang_owl")]
"""

OWL_ALONE = "plugins:\n  disabled: [openai, ollama, local, jobs]\ntools:\n  ask: [ask_owl]\n"
CONFIGURATION = f"agent:\n  models: [owl:wise]\n{OWL_ALONE}"


def with_owl(installed: Installed, configuration: str = CONFIGURATION) -> Installed:
    """Install the owl and write the user's configuration."""
    installed.add("night-owl", "1.2", {"bumble_core.plugins": {"owl": "night_owl:OwlPlugin"}}, night_owl=OWL)
    configure(installed, configuration)
    return installed


def configure(installed: Installed, configuration: str) -> None:
    folder = installed.user / ".config" / "bumble"
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("bumble.yaml").write_text(configuration)

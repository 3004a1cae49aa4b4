"""Plugins as installed distributions: one that is broken is named with its reason and its remedy, the rest works."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from bumble_core import ToolCall, assistant
from bumble_core.testing.stub_replies import openai_stream, sse_reply
from bumble_core.testing.stub_server import StubServer
from tests.installed import Ended, Installed
from tests.strangers import BY_CASE, CONFIGURED, GROUP, ROUTER, hook, offering

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "cases.yaml").read_text(encoding="utf-8"))["cases"]
CASE = next(case for case in CASES if case["id"] == "H23_plugins_isolated")
POINTS = [(each["dist"].split()[0], each["dist"].split()[1], each["name"]) for each in CASE["given"]["entry_points"]]
ORDERS = [list(range(len(POINTS)))[start:] + list(range(start)) for start in range(len(POINTS))]

Add = Callable[..., None]


@pytest.fixture
def add(installed: Installed) -> Add:
    """Install a plugin: its distribution and its module are named after it unless `distribution` says otherwise."""

    def install(name: str, source: str, *, distribution: str = "", requires: tuple[str, ...] = ()) -> None:
        distribution = distribution or f"dist-of-{name}"
        module = f"module_{distribution}_{name}".replace("-", "_")
        points = {GROUP: {name: f"{module}:Plugin"}}
        installed.add(distribution, "0.1", points, requires=requires, **{module: source})

    return install


def reports(installed: Installed, *arguments: str) -> dict[str, dict[str, Any]]:
    ended = installed.bumble("plugins", "--json", *arguments)
    assert (ended.status, "Traceback" in ended.err) == (0, False), ended.err
    return {f"{each['distribution']}/{each['name']}": each for each in json.loads(ended.out)}


def configure(installed: Installed, **sections: Any) -> tuple[str, str]:
    file = installed.root / "bumble.yaml"
    file.write_text(yaml.safe_dump(sections))
    return "--config", str(file)


def install_case(add: Add, order: list[int]) -> None:
    for place, index in enumerate(order):
        distribution, _, name = POINTS[index]
        add(f"p{place}-{name}", BY_CASE[name], distribution=f"p{place}-{distribution}")


async def say(installed: Installed, *replies: Any, arguments: tuple[str, ...] = ()) -> tuple[Ended, StubServer]:
    """Run one turn of a process against a server that gives these replies."""
    async with StubServer([sse_reply(openai_stream(reply)) for reply in replies]) as stub:
        variables = {"OPENAI_API_KEY": "sk-test-0123456789", "OPENAI_BASE_URL": f"{stub.url}/v1"}
        given = ("run", "--json", "--quiet", "--model", "openai:m", *arguments, "hi")
        ended = await asyncio.to_thread(installed.bumble, *given, **variables)
    return ended, stub


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "".join(map(str, order)))
def test_case_h23_lists_every_problem_whatever_the_order(installed: Installed, add: Add, order: list[int]) -> None:
    install_case(add, order)
    found = reports(installed)
    texts = {key: f"{each['distribution']} {each['name']} {each['reason']}".lower() for key, each in found.items()}
    for distribution, word in CASE["then"]["problems_reported"]:
        (text,) = [text for key, text in texts.items() if f"-{distribution}/" in key]
        assert word.lower() in text.split(" ", 2)[2]
    assert [each["state"] for key, each in found.items() if "good-plug" in key] == ["loaded"]
    assert all(each["remedy"] for each in found.values() if each["reason"])


@pytest.mark.parametrize("order", [ORDERS[0], ORDERS[0][::-1]], ids=["as-given", "reversed"])
async def test_case_h23_a_turn_calls_the_tool_that_works(installed: Installed, add: Add, order: list[int]) -> None:
    install_case(add, order)
    ended, stub = await say(installed, assistant("", ToolCall(name="greet")), assistant("It said hello."))
    tools = [each["function"]["name"] for each in stub.requests[0].json["tools"]]
    results = [part for m in json.loads(ended.out)["messages"] for part in m["parts"] if part["kind"] == "tool_result"]
    assert (ended.status, results[0]["content"]) == (0, CASE["then"]["greet_result"])
    assert set(CASE["then"]["tools_contain"]) <= set(tools)
    assert len(tools) == len(set(tools))


def test_case_h23_the_tool_that_is_built_in_stays(installed: Installed, add: Add) -> None:
    install_case(add, ORDERS[0])
    (clash,) = [each for key, each in reports(installed).items() if "clash" in key]
    assert clash["reason"] == "tool `read_file` left out: `files` has one of this name"
    assert clash["state"] == "loaded"


def test_case_h23_strict_stops_with_the_same_list(installed: Installed, add: Add) -> None:
    install_case(add, ORDERS[0])
    listed = [each for each in reports(installed).values() if each["reason"] and each["state"] != "disabled"]
    ended = installed.bumble("--strict", "run", "--model", "openai:m", "go")
    assert (ended.status, ended.out) == (1, "")
    for each in listed:
        assert f"{each['distribution']}, entry point `{each['name']}`: {each['reason']}" in ended.err
    assert "Traceback" not in ended.err


WRONG_PORT = hook("bumble_judge(self)", "return object()")
BAD_ITEM = hook("bumble_tools(self)", "return [object()]")
LAZY = hook("bumble_tools(self)", "yield object.nothing")
NAMELESS = hook("bumble_surfaces(self)", "return [None]")
BAD_PLACE = hook(
    "bumble_prompt_sections(self)",
    "return [Note()]",
    "class Note:\n    placement = 'top'\n    def key(self, turn): ...\n    async def render(self, turn): ...",
)
BAD_NAME = hook(
    "bumble_providers(self, clock)",
    "return [Mine()]",
    "class Mine:\n    name = 'a:b'\n    def stream(self, request, model): ...\n    async def models(self): ...",
)
BOMB = hook(
    "bumble_tools(self)",
    "return [Mine()]",
    "class Mine:\n    is_work = True\n    async def call(self, call, turn): ...\n    @property\n"
    "    def spec(self):\n        raise RuntimeError('boom')",
)
UNMARKED = "class Plugin:\n    def __init__(self, config): ...\n    def bumble_tools(self):\n        return []\n"
OPEN_CONFIG = "class Plugin:\n    class Config: ...\n    def __init__(self, config): ...\n"
RAISING = "class Plugin:\n    def __init__(self, config):\n        raise OSError('no disk')\n"


BROKEN = {
    "missing-module": (
        "import nothing_like_it",
        "import failed: ModuleNotFoundError: No module named 'nothing_like_it'",
        "pip ins",
    ),
    "syntax-error": ("def broken(:\n", "import failed: SyntaxError", "pip install --upgrade dist-of-syntax-error"),
    "exits-at-import": ("import sys\nsys.exit(3)", "import failed: SystemExit: 3", "pip install --upgrade"),
    "no-such-class": ("other = 1", "has no attribute 'Plugin'", "pip install --upgrade"),
    "not-a-class": ("Plugin = 7", "is not a class", "point the entry point at a class"),
    "takes-no-config": ("class Plugin: ...", "takes no arguments", "give it `__init__(self, config)`"),
    "constructor-raises": (RAISING, "its constructor raised OSError: no disk", "pip install --upgrade"),
    "open-config": (OPEN_CONFIG, "`Plugin.Config` is not a PluginConfig", "derive it from PluginConfig"),
    "unmarked-hook": (UNMARKED, "`bumble_tools` is not marked as a hook", "write @hookimpl above it"),
    "misspelt-hook": (
        hook("bumble_ruter(self)", "..."),
        "there is no hook `bumble_ruter`",
        "did you mean `bumble_router`?",
    ),
    "wrong-argument": (hook("bumble_tools(self, colour)", "return []"), "colour", "compare it with the hook reference"),
    "wrong-port": (WRONG_PORT, "`bumble_judge` gave object, which is not a Judge", "give it what `Judge`"),
    "wrong-item": (BAD_ITEM, "`bumble_tools` gave object, which is not a Tool", "give it what `Tool`"),
    "lazy-list-raises": (LAZY, "`bumble_tools` raised AttributeError", "report it to the authors"),
    "none-in-a-list": (NAMELESS, "gave NoneType, which is not a Surface", "give it what `Surface`"),
    "unusable-name": (BAD_NAME, "provider 'a:b': not a name", "a name has 1 to 64"),
    "unknown-placement": (BAD_PLACE, "Note.placement is 'top'", "write `system` or `turn`"),
    "property-raises": (BOMB, "`bumble_tools` raised RuntimeError: boom", "report it"),
    "hook-exits": (
        hook("bumble_tools(self)", "raise SystemExit('bye')"),
        "`bumble_tools` raised SystemExit: bye",
        "report it",
    ),
    "not-a-list": (
        hook("bumble_tools(self)", "return 7"),
        "`bumble_tools` gave int, expected a list of Tool",
        "report it",
    ),
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What one machine with all of `BROKEN` and one good plugin says of each."""
    installed = Installed.at(tmp_path_factory.mktemp("crowd") / "machine")
    sources = {"good": offering("greet"), **{name: source for name, (source, _, _) in BROKEN.items()}}
    for name, source in sources.items():
        module = f"module_{name}".replace("-", "_")
        installed.add(f"dist-of-{name}", "0.1", {GROUP: {name: f"{module}:Plugin"}}, **{module: source})
    return reports(installed)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_plugin_is_named_with_its_reason_and_its_remedy(crowd: dict[str, dict[str, Any]], name: str) -> None:
    _, reason, remedy = BROKEN[name]
    report = crowd[f"dist-of-{name}/{name}"]
    assert (report["name"], report["version"], report["state"]) == (name, "0.1", "failed")
    assert reason in report["reason"]
    assert remedy in report["remedy"]


def test_the_others_work_among_all_that_are_broken(crowd: dict[str, dict[str, Any]]) -> None:
    loaded = {key for key, report in crowd.items() if report["state"] == "loaded"}
    assert {"dist-of-good/good", "bumble-core/router", "bumble-core/files"} <= loaded
    assert {key.partition("/")[2] for key in crowd.keys() - loaded} >= BROKEN.keys()


def test_missing_extra_is_the_command_that_installs_it(installed: Installed, add: Add) -> None:
    requires = ('Some_Engine>=2; extra == "engine"', 'other>=1; extra == "more"')
    add("bad", "import some_engine", distribution="night-owl", requires=requires)
    bad = reports(installed)["night-owl/bad"]
    assert (bad["state"], bad["reason"]) == ("missing", "it needs `some_engine`, which is not installed")
    assert bad["remedy"] == "pip install 'night-owl[engine]'"


def test_model_of_a_provider_that_lacks_its_extra_is_an_error_with_the_command(installed: Installed, add: Add) -> None:
    add("owl", "import some_engine", distribution="night-owl", requires=('some_engine; extra == "engine"',))
    ended = installed.bumble("run", "hi", "--model", "owl:big")
    assert ended.status == 2
    assert "`owl`: it needs `some_engine`, which is not installed: pip install 'night-owl[engine]'" in ended.err


def test_strict_does_not_ask_for_every_extra(installed: Installed, add: Add) -> None:
    add("owl", "import some_engine", distribution="night-owl", requires=('some_engine; extra == "engine"',))
    assert installed.bumble("plugins", "--strict").status == 0


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ({"volum": 3}, "plugins.loud.volum: no such key; did you mean `volume`?"),
        ({"volume": -1}, "plugins.loud.volume: Input should be greater than or equal to 0"),
        ({"volume": "very"}, "plugins.loud.volume: Input should be a valid integer"),
    ],
    ids=["misspelt-key", "out-of-range", "wrong-type"],
)
def test_invalid_configuration_names_the_key(
    installed: Installed, add: Add, section: Mapping[str, object], reason: str
) -> None:
    add("loud", CONFIGURED)
    loud = reports(installed, *configure(installed, plugins={"loud": section}))["dist-of-loud/loud"]
    assert loud["state"] == "failed"
    assert reason in loud["reason"]
    assert loud["remedy"] == "correct `plugins.loud`"


def test_name_used_by_two_strangers_is_given_to_neither(installed: Installed, add: Add) -> None:
    add("twin", offering("greet"), distribution="one")
    add("twin", offering("greet"), distribution="two")
    found = reports(installed)
    for distribution in ("one", "two"):
        twin = found[f"{distribution}/twin"]
        assert (twin["state"], twin["reason"]) == ("failed", "the name `twin` is used by `one` and `two`")
        assert f"pip uninstall {distribution}" in twin["remedy"]


def test_section_of_a_name_used_twice_is_no_error(installed: Installed, add: Add) -> None:
    add("twin", offering("greet"), distribution="one")
    add("twin", offering("greet"), distribution="two")
    assert reports(installed, *configure(installed, plugins={"twin": {}}))["one/twin"]["state"] == "failed"


@pytest.mark.parametrize("name", ["router", "core"], ids=["shipped", "the-kernel's-own"])
def test_stranger_cannot_take_a_name_of_ours(installed: Installed, add: Add, name: str) -> None:
    add(name, offering("greet"), distribution="thief")
    found = reports(installed)
    assert found[f"thief/{name}"]["state"] == "failed"
    assert f"the name `{name}`" in found[f"thief/{name}"]["reason"]
    assert found["bumble-core/router"]["state"] == "loaded"


def test_tool_of_two_strangers_is_left_out_until_one_is_preferred(installed: Installed, add: Add) -> None:
    add("left", offering("greet", "left"))
    add("right", offering("greet", "right"))
    both = reports(installed)
    settled = reports(installed, *configure(installed, prefer={"tool:greet": "right"}))
    assert "`right` offers one of this name too" in both["dist-of-left/left"]["reason"]
    assert "`left` offers one of this name too" in both["dist-of-right/right"]["reason"]
    assert "prefer:" in both["dist-of-left/left"]["remedy"]
    assert (settled["dist-of-right/right"]["reason"], settled["dist-of-left/left"]["state"]) == ("", "loaded")


@pytest.mark.parametrize(
    ("prefer", "message"),
    [
        ({"tol:greet": "good"}, "prefer.tol:greet: expected KIND:NAME; did you mean `tool`?"),
        ({"tool:greet": "god"}, "prefer.tool:greet: no such plugin; did you mean `good`?"),
    ],
    ids=["kind", "plugin"],
)
def test_preference_for_nothing_is_an_error(
    installed: Installed, add: Add, prefer: Mapping[str, str], message: str
) -> None:
    add("good", offering("greet"))
    ended = installed.bumble("plugins", *configure(installed, prefer=dict(prefer)))
    assert (ended.status, message in ended.err) == (2, True)


def test_two_claims_of_one_slot_are_an_error_with_the_line_to_write(installed: Installed, add: Add) -> None:
    add("one", ROUTER)
    add("two", ROUTER)
    ended = installed.bumble("plugins", "--json")
    assert (ended.status, ended.out) == (2, "")
    assert "`one` and `two` both provide `router`; choose one with `stages: {router: NAME}`" in ended.err
    settled = installed.bumble("plugins", "--json", *configure(installed, stages={"router": "two"}))
    assert settled.status == 0


def test_stage_configured_to_a_broken_plugin_is_an_error(installed: Installed, add: Add) -> None:
    add("bad", "raise ImportError('no module named zzz')")
    ended = installed.bumble("plugins", *configure(installed, stages={"router": "bad"}))
    assert (ended.status, ended.out) == (2, "")
    assert "stages.router: plugin `bad`: import failed: ImportError: no module named zzz" in ended.err


def test_disabled_plugin_is_never_imported(installed: Installed, add: Add) -> None:
    trace = installed.root / "imported"
    add("loud", f"import pathlib, os\npathlib.Path({str(trace)!r}).touch()\nos._exit(9)")
    loud = reports(installed, *configure(installed, plugins={"disabled": ["loud"]}))["dist-of-loud/loud"]
    assert (loud["state"], trace.exists()) == ("disabled", False)
    assert installed.bumble("plugins").status == 9


NOISY = """
import logging, sys
import structlog
print("printed at import")
logging.warning("logged at import")
structlog.get_logger().warning("noisy.imported")
""" + hook("bumble_tools(self)", "print('printed by a hook'); return []").replace(
    "def __init__(self, config): ...", "def __init__(self, config):\n        print('printed by a constructor')"
)


def test_what_a_plugin_prints_does_not_corrupt_the_output(installed: Installed, add: Add) -> None:
    add("noisy", NOISY)
    assert reports(installed)["dist-of-noisy/noisy"]["state"] == "loaded"
    assert "printed by a hook" in installed.bumble("plugins", "--json").err


@pytest.mark.parametrize(
    "damage",
    [("METADATA", ""), ("METADATA", None), ("entry_points.txt", "[bumble_core.plugins]\nodd = no such: thing\n")],
    ids=["empty-metadata", "no-metadata", "entry-point-that-is-none"],
)
def test_damaged_metadata_of_a_stranger_hurts_nobody_else(
    installed: Installed, add: Add, damage: tuple[str, str | None]
) -> None:
    add("odd", offering("greet"))
    name, text = damage
    file = next(installed.site.glob("dist_of_odd-*")) / name
    file.unlink() if text is None else file.write_text(text)
    assert reports(installed)["bumble-core/router"]["state"] == "loaded"


def test_orders_cover_each_plugin_in_each_place() -> None:
    places = set(itertools.chain.from_iterable(enumerate(order) for order in ORDERS))
    assert places == set(itertools.product(range(len(POINTS)), repeat=2))

"""`bumble stages`: who fills each slot."""

from __future__ import annotations

import json

from bumble_core.types.settings import Stages
from tests.cli.talker import CONFIGURATION, with_owl
from tests.installed import Installed

SLY = """
from bumble_core import hookimpl

class Router:
    async def route(self, input): ...

class FoxPlugin:
    def __init__(self, config): ...
    @hookimpl
    def bumble_router(self): return Router()

class Passing:
    def __init__(self, config): ...
    @hookimpl(wrapper=True)
    def bumble_router(self):
        return (yield)
"""


def test_every_slot_is_listed(installed: Installed) -> None:
    chosen = json.loads(with_owl(installed).bumble("stages", "--json").out)
    assert {choice["stage"] for choice in chosen} == set(Stages.model_fields)


def test_a_stage_that_was_replaced_and_wrapped_says_by_whom(installed: Installed) -> None:
    points = {"fox": "sly:FoxPlugin", "passing": "sly:Passing"}
    with_owl(installed).add("sly", "1.0", {"bumble_core.plugins": points}, sly=SLY)
    chosen = {choice["stage"]: choice for choice in json.loads(installed.bumble("stages", "--json").out)}
    router = chosen["router"]
    assert (router["plugin"], router["passed_over"], router["wrapped_by"]) == ("fox", ["router"], ["passing"])
    assert "router" in installed.bumble("stages").out


def test_two_claims_are_an_error_that_says_what_to_write(installed: Installed) -> None:
    points = {"fox": "sly:FoxPlugin", "wolf": "sly:FoxPlugin"}
    with_owl(installed, CONFIGURATION).add("sly", "1.0", {"bumble_core.plugins": points}, sly=SLY)
    ended = installed.bumble("stages")
    assert (ended.status, ended.out) == (2, "")
    assert "stages: {router: NAME}" in ended.err

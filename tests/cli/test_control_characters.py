"""Nothing that came from elsewhere can drive the terminal of who runs `bumble`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bumble_core.cli import output
from tests.cli.talker import with_owl
from tests.installed import CHECKOUT, Ended, Installed

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
TITLE = "\x1b]0;owned\x07\x9b2J"  # sets a terminal's title, clears its screen
MAY_ECHO = {"output.py", "activity.py", "options.py", "sessions.py", "chat.py", "turns.py"}


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


def assert_harmless(ended: Ended) -> None:
    assert OBEYED.findall(ended.out + ended.err) == []
    assert "owned" in ended.out + ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        (TITLE,),
        ("run", f"--{TITLE}"),
        ("run", "--config", f"/no/{TITLE}", "hi"),
        ("sessions", "show", TITLE),
        ("sessions", "delete", "--yes", TITLE),
        ("sessions", "import", f"/no/{TITLE}"),
        ("sessions", "search", TITLE),
        ("models", "pull", f"owl:{TITLE}"),
        ("config", "check", f"/no/{TITLE}"),
        ("config", "trust", f"/no/{TITLE}"),
    ],
    ids=lambda arguments: "-".join(arguments[:2]).replace(TITLE, "title"),
)
def test_an_error_shows_control_characters_and_does_not_send_them(owl: Installed, arguments: tuple[str, ...]) -> None:
    assert_harmless(owl.bumble(*arguments))


@pytest.mark.parametrize(
    "arguments",
    [("config", "check"), ("config", "show"), ("config", "trust"), ("config", "distrust"), ("run", "hi")],
    ids=lambda arguments: arguments[-1],
)
def test_a_key_of_a_foreign_file_cannot_forge_what_is_shown_of_it(owl: Installed, arguments: tuple[str, ...]) -> None:
    owl.work.joinpath("bumble.yaml").write_text(
        """plugins: {"\\e]0;owned\\a\\n  cognition: harmless (bumble.yaml:1)": {a: 1}}"""
    )
    ended = owl.bumble(*arguments)
    assert_harmless(ended)
    assert "\n  cognition: harmless" not in ended.out + ended.err


def test_a_plugin_that_is_not_there_is_named_harmlessly(owl: Installed) -> None:
    owl.work.joinpath("bumble.yaml").write_text("""plugins: {"\\e]0;owned\\a": {a: 1}}""")
    ended = owl.bumble("run", "--config", "bumble.yaml", "hi")
    assert ended.status == 2
    assert_harmless(ended)


def test_json_for_a_terminal_holds_no_control_characters(owl: Installed) -> None:
    owl.bumble("run", "--session", "s", "say owned \\x1b[2J \\x9b2J \\u202e \\x7f")
    assert_harmless(owl.bumble("sessions", "show", "s", "--json"))


def test_a_traceback_shows_control_characters_and_does_not_send_them(owl: Installed) -> None:
    ended = owl.bumble("sessions", "show", TITLE, "--debug")
    assert "Traceback" in ended.err
    assert_harmless(ended)


def test_a_log_line_shows_control_characters_and_does_not_send_them(installed: Installed) -> None:
    code = "from bumble_core.cli.logs import configure; import structlog; configure(debug=False)\n"
    code += "structlog.get_logger().warning('provider.failed', error='\\x1b]0;owned\\x07')"
    done = subprocess.run([sys.executable, "-c", code], env=installed.environment, capture_output=True, check=True)
    assert_harmless(Ended(done.returncode, done.stdout.decode(), done.stderr.decode()))


def test_a_progress_bar_takes_a_name_for_no_markup(installed: Installed) -> None:
    code = "from bumble_core.cli.progress import Bar\nwith Bar('Fetching owl:[/owned]\\x1b]0;x'): pass"
    done = subprocess.run([sys.executable, "-c", code], env=installed.environment, capture_output=True, check=True)
    assert "owl:[/owned]\u241b]0;x" in done.stderr.decode()


@pytest.mark.parametrize("path", sorted(Path(output.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_commands_print_foreign_text_with_tell(path: Path) -> None:
    echoes = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "click.echo"
    ]
    made_up = [node for node in echoes if node.args and not isinstance(node.args[0], ast.Constant | ast.Name)]
    assert path.name in MAY_ECHO or made_up == [], f"{path.relative_to(CHECKOUT)}: use `tell`"

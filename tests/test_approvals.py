"""Which calls run, which are asked about, which are denied; nothing slips through by the way it is written."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError
from structlog.testing import capture_logs

from bumble_core import read_settings
from bumble_core.approvals import Approvals, denial
from bumble_core.command_lines import programs_of, words_fit, words_of
from bumble_core.errors import ConfigError
from bumble_core.ports import Cautious, Tool
from bumble_core.tools import tool
from bumble_core.types.messages import ToolCall
from bumble_core.types.settings import Settings, Tools
from tests.depth import examples


@tool(asks_first=True)
def run_command(command: list[str] | str, folder: str = ".") -> str:
    return ""


@tool
def write_file(path: str, text: str, append: bool = False) -> str:
    return ""


@tool
def list_directory(path: str = ".") -> str:
    return ""


@tool
def fetch_all(urls: list[str], depth: int = 1) -> str:
    return ""


@tool
def nothing() -> str:
    return ""


@tool(is_work=False)
def say(message: str) -> str:
    return ""


TOOLS: dict[str, Tool] = {
    made.spec.name: made for made in (run_command, write_file, list_directory, fetch_all, nothing, say)
}


def decided(settings: Tools, name: str, **arguments: JsonValue) -> str:
    return Approvals(TOOLS, settings).decision(ToolCall(name=name, arguments=arguments), "s").approval


def of_command(entry: str, command: JsonValue) -> str:
    """Return what is decided where one entry allows, and everything else is denied."""
    return decided(Tools(allow=(f"run_command({entry})",)), "run_command", command=command)


def of_path(path: str, **lists: tuple[str, ...]) -> str:
    return decided(Tools(**{"allow": ("*",), **lists}), "write_file", path=path, text="x")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Tools(), "allow"),
        (Tools(ask=("write_*",)), "ask"),
        (Tools(ask=("*",), deny=("write_file",)), "deny"),
        (Tools(allow=("write_file",), deny=("w*",)), "deny"),
        (Tools(allow=("read_*",)), "deny"),
        (Tools(allow=(), ask=("write_[a-g]ile",)), "ask"),
        (Tools(ask=("WRITE_*",)), "allow"),
        (Tools(rules=("allow: write_file",), deny=("*",)), "allow"),
        (Tools(rules=("ask: write_file", "deny: write_file")), "ask"),
        (Tools(rules=("deny: write_file(path=b*)", "ask: write_file(path=a*)"), deny=("*",)), "ask"),
        (Tools(rules=("deny: write_file(path=b*)",), allow=()), "deny"),
    ],
    ids=[
        "default",
        "ask-pattern",
        "deny-before-ask",
        "deny-before-allow",
        "not-listed",
        "ask-alone",
        "case-counts",
        "rules-before-lists",
        "first-rule",
        "rule-that-does-not-fit",
        "no-rule-fits",
    ],
)
def test_the_first_entry_that_fits_decides(settings: Tools, expected: str) -> None:
    assert decided(settings, "write_file", path="a.txt", text="") == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Tools(), "ask"),
        (Tools(ask=("write_file",)), "ask"),
        (Tools(rules=("allow: *",)), "ask"),
        (Tools(allow=("*", "run_command")), "allow"),
        (Tools(allow=("run_*",)), "allow"),
        (Tools(allow=("write_file",)), "deny"),
        (Tools(allow=("*", "run_command(ls *)")), "allow"),
        (Tools(allow=("run_command(ls *)", "*")), "allow"),
        (Tools(rules=("allow: *", "deny: run_command")), "deny"),
    ],
    ids=[
        "default",
        "other-asked",
        "star-rule",
        "named",
        "named-by-pattern",
        "not-listed",
        "star-first",
        "star-last",
        "denied-behind-star",
    ],
)
def test_a_tool_that_asks_first_is_allowed_only_by_name(settings: Tools, expected: str) -> None:
    assert isinstance(run_command, Cautious)
    assert decided(settings, "run_command", command="ls -l") == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Tools(allow=("write_file",)), "allow"),
        (Tools(allow=()), "allow"),
        (Tools(deny=("*",), ask=("*",)), "allow"),
        (Tools(deny=("say",)), "deny"),
        (Tools(rules=("ask: say(message=*secret*)",)), "allow"),
    ],
    ids=["narrowed", "nothing-allowed", "all-denied", "named", "named-with-arguments"],
)
def test_talking_is_denied_only_by_name(settings: Tools, expected: str) -> None:
    assert decided(settings, "say", message="hello") == expected


def test_a_work_tool_is_not_exempt_because_it_is_called_like_an_agency_tool() -> None:
    tools: dict[str, Tool] = {"say": tool(lambda: None, name="say")}
    assert Approvals(tools, Tools(allow=())).decision(ToolCall(name="say"), "s").approval == "deny"


PLAIN = [
    "git status",
    "  git   log  ",
    'git commit -m "fix it, really"',
    "git commit -m 'costs $5; `now`'",
    "git add src/a.py docs/é.md",
    "git log --format=%h --since=2026-01-01",
    "git",
    ["git", "status"],
    ["git", "commit", "-m", "a; rm -rf /\n$(x)"],
]
BYPASSES = [
    "git status; rm -rf /",
    "git status && rm -rf /",
    "git status || rm -rf /",
    "git status | sh",
    "git status & rm -rf /",
    "git status\nrm -rf /",
    "git status\r\nrm -rf /",
    "git log $(rm -rf /)",
    "git log `rm -rf /`",
    "git log ${IFS}x",
    "git log $HOME",
    'git log "$(rm -rf /)"',
    'git log "`rm -rf /`"',
    'git log "a\\"; rm -rf /; echo \\""',
    "git log > /etc/passwd",
    "git log < /etc/passwd",
    "git log <(rm -rf /)",
    "git log *",
    "git log ~/x",
    "git log {a,b}",
    "git log # x",
    "git log \\\nrm",
    "git log 'unclosed",
    'git log "unclosed',
    "git\tstatus",
    "git\u00a0status",
    "git\u2003status",
    "git\u3000status",
    "git \u2028rm -rf /",
    "git log \u202erm",
    "git log \x00rm",
    "git log \u200b",
    "X=1 git status",
    "GIT_PAGER='rm -rf /' git log",
    "! git status",
    "(git status)",
    "{ git status; }",
    "g'i't status; x",
    "gitx status",
    "/tmp/git status",
    "./git status",
    "sudo git status",
    "echo git status",
    "",
    " ",
    ["git status"],
    ["gitx", "status"],
    ["/tmp/git", "status"],
    ["sh", "-c", "git status"],
    ["", "git"],
    [],
]


@pytest.mark.parametrize("command", PLAIN, ids=repr)
def test_a_plain_command_is_allowed_however_it_is_written(command: JsonValue) -> None:
    assert of_command("git *", command) == "allow"


@pytest.mark.parametrize("command", BYPASSES, ids=repr)
def test_nothing_but_the_plain_command_is_allowed(command: JsonValue) -> None:
    assert of_command("git *", command) == "deny"


@pytest.mark.parametrize(
    ("entry", "command", "expected"),
    [
        ("git status", "git status", "allow"),
        ("git status", "git status -s", "deny"),
        ("git log *", ["git", "log", "-p"], "allow"),
        ("git log *", ["git", "-C", "/", "log"], "deny"),
        ("git * --stat", "git log -p --stat", "allow"),
        ("npm run test-*", "npm run test-unit", "allow"),
        ("npm run test-*", ["npm", "run", "test-unit", "x"], "deny"),
        ("git *", "git", "allow"),
        ("command=git *", "git log", "allow"),
        ("command=git *, folder=docs*", "git log", "deny"),
        ("command=git *, folder=.", "git log", "allow"),
    ],
)
def test_words_of_a_command_fit_word_by_word(entry: str, command: JsonValue, expected: str) -> None:
    assert of_command(entry, command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm -rf x", "deny"),
        (["rm", "-rf", "x"], "deny"),
        (["/bin/rm", "x"], "deny"),
        ("ls; rm -rf x", "deny"),
        ("ls && (rm x)", "deny"),
        ("echo `rm x`", "deny"),
        ('"rm" x > y', "deny"),
        ("echo $X", "ask"),
        ("sh -c $X", "ask"),
        ("ls -l", "allow"),
        (["ls", ";", "rm"], "allow"),
        ("FOO=1 rm x", "deny"),
        ("env -i FOO=1 rm x", "deny"),
        (["/usr/bin/env", "rm", "x"], "deny"),
        ("sudo -n rm x", "deny"),
        ("ls | xargs rm", "deny"),
        ("timeout 5 rm x", "deny"),
        ("if true; then rm x; fi", "deny"),
        ("find . -exec rm {} +", "deny"),
        ("find . -name rm", "allow"),
        ("sh -c 'rm x'", "deny"),
        (["bash", "-lc", "cd a && rm x"], "deny"),
        (["sudo", "sh", "-c", "sh -c 'rm x'"], "deny"),
        ("eval 'rm x'", "deny"),
        (["sh", "-c", "$X"], "ask"),
        (["sh", "-c", "ls"], "allow"),
        ("sh build.sh", "allow"),
        (["eval"] * 50, "ask"),
    ],
    ids=repr,
)
def test_what_a_line_may_do_is_denied_or_asked_about(command: JsonValue, expected: str) -> None:
    settings = Tools(deny=("run_command(rm *)",), allow=("run_command",))
    assert decided(settings, "run_command", command=command) == expected


def test_doubt_allows_nothing_that_is_not_listed() -> None:
    settings = Tools(deny=("run_command(rm *)",), allow=("write_file",))
    assert decided(settings, "run_command", command="echo $X") == "deny"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/a.md", "allow"),
        ("docs/deep/a.md", "allow"),
        ("docs/.../a", "allow"),
        ("docs/../a.md", "deny"),
        ("docs/..", "deny"),
        ("docs/x/../../a", "deny"),
        ("../docs/a.md", "deny"),
        ("/docs/a.md", "deny"),
        ("xdocs/a.md", "deny"),
        ("docs", "deny"),
        ("docs\n/a", "deny"),
    ],
)
def test_a_path_is_allowed_as_a_whole_and_never_upwards(path: str, expected: str) -> None:
    assert of_path(path, allow=("write_file(path=docs/*)",)) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".git/config", "deny"),
        ("./.git/config", "deny"),
        (".git//config", "deny"),
        ("docs/../.git/config", "deny"),
        ("docs/../../ws/.git/config", "ask"),
        ("/home/me/ws/.git/config", "ask"),
        ("~/ws/.git/config", "ask"),
        ("git/config", "allow"),
    ],
)
def test_a_guarded_path_is_not_reached_by_another_spelling(path: str, expected: str) -> None:
    assert of_path(path, deny=("write_file(path=.git/*)",)) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [("app/[id]/key", "deny"), ("app/i/key", "deny"), ("./app/[id]/key", "deny"), ("app/x/key", "allow")],
)
def test_brackets_of_a_guarded_path_also_mean_themselves(path: str, expected: str) -> None:
    assert of_path(path, deny=("write_file(path=app/[id]/*)",)) == expected


def test_brackets_of_a_guarded_command_also_mean_themselves() -> None:
    settings = Tools(deny=("run_command(cat [a].txt)",), allow=("run_command",))
    assert decided(settings, "run_command", command=["cat", "[a].txt"]) == "deny"


def test_an_argument_that_is_left_out_has_its_default() -> None:
    assert decided(Tools(deny=("list_directory(.)",)), "list_directory") == "deny"
    assert decided(Tools(allow=("list_directory(path=.)",)), "list_directory") == "allow"


@pytest.mark.parametrize(
    ("entry", "given", "expected"),
    [
        ("fetch_all(http://a/*)", {"urls": ["http://a/x", "http://a/y"]}, "allow"),
        ("fetch_all(http://a/*)", {"urls": ["http://a/x", "http://b/y"]}, "deny"),
        ("fetch_all(http://a/*)", {"urls": []}, "deny"),
        ("fetch_all(depth=1)", {"urls": []}, "allow"),
        ("fetch_all(depth=1)", {"urls": [], "depth": 11}, "deny"),
        ("fetch_all(urls=*, depth=[12])", {"urls": ["x"], "depth": 2}, "allow"),
    ],
)
def test_any_value_is_compared_as_a_whole(entry: str, given: dict[str, JsonValue], expected: str) -> None:
    assert decided(Tools(allow=(entry,)), "fetch_all", **given) == expected


def test_an_entry_that_misspells_a_tool_is_warned_about() -> None:
    with capture_logs() as logs:
        Approvals(TOOLS, Tools(deny=("write_fiel", "browse")))
    assert [log["tool"] for log in logs] == ["write_fiel (did you mean `write_file`?)"]


def test_one_item_of_a_list_is_enough_to_deny() -> None:
    settings = Tools(deny=("fetch_all(http://b/*)",))
    assert decided(settings, "fetch_all", urls=["http://a/x", "http://b/y"]) == "deny"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "write_file(pth=docs/*)",
            r"tools.ask: .*no argument `pth` \(did you mean `path`\?\); it takes `path`, `text`",
        ),
        ("nothing(x)", "`nothing` has no argument; it takes no arguments"),
    ],
)
def test_a_guard_that_could_never_fit_is_an_error(entry: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Approvals(TOOLS, Tools(ask=(entry,)))


def test_an_entry_may_name_a_tool_that_is_not_installed() -> None:
    assert decided(Tools(deny=("format_disk(drive=*)",)), "nothing") == "allow"


@pytest.mark.parametrize("entry", ["", "a b", "run_command(", "run_command()", "(x)", "a=b", "x(y) z"])
def test_an_entry_that_cannot_be_read_is_an_error_of_the_configuration(entry: str) -> None:
    with pytest.raises(ValidationError, match=r"expected a tool's name"):
        Tools(deny=(entry,))


@pytest.mark.parametrize(
    "rule", ["run_command", "alow: x", {"alow": "x"}, {"allow": "x", "ask": "y"}, {"allow": None}, {}, 3, "deny:"]
)
def test_a_rule_that_cannot_be_read_is_an_error_of_the_configuration(rule: Any) -> None:
    with pytest.raises(ValidationError, match=r"expected|valid string"):
        Tools.model_validate({"rules": [rule]})


def test_a_wrong_rule_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bumble.yaml"
    file.write_text("tools:\n  rules:\n    - deny: run_command(rm *)\n    - alow: run_command\n")
    with pytest.raises(ConfigError, match=r"bumble.yaml:4: tools.rules\[1\]: expected `allow: CALLS`.*got a mapping"):
        read_settings(file)


def test_rules_are_written_as_mappings_or_as_text() -> None:
    written = {"tools": {"rules": [{"allow": "run_command(git *)"}, "deny:run_command"]}}
    assert Settings.model_validate(written).tools.rules == ("allow: run_command(git *)", "deny: run_command")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Tools(allow=()), "`tools.allow` of the configuration does not list this call"),
        (Tools(deny=("write_*",)), "denies it (`tools.deny`, entry `write_*`)"),
        (Tools(rules=("deny: write_file(path=a*)",)), "denies it (`tools.rules`, entry `write_file(path=a*)`)"),
    ],
    ids=["not-listed", "denied", "rule"],
)
def test_a_denial_names_the_key_and_the_entry(settings: Tools, said: str) -> None:
    call = ToolCall(name="write_file", arguments={"path": "a", "text": ""})
    assert said in denial(call, Approvals(TOOLS, settings).decision(call, "s").rule)


def test_always_holds_for_this_very_call_in_this_session() -> None:
    approvals = Approvals(TOOLS, Tools())
    call, other = (ToolCall(name="run_command", arguments={"command": each}) for each in ("ls", "ls -l"))
    approvals.agree(call, "here")
    asked = [approvals.decision(*each).approval for each in ((call, "here"), (other, "here"), (call, "there"))]
    assert asked == ["allow", "ask", "ask"]


def test_always_does_not_outlive_a_denial() -> None:
    approvals = Approvals(TOOLS, Tools(deny=("run_command",)))
    call = ToolCall(name="run_command", arguments={"command": "ls"})
    approvals.agree(call, "s")
    assert approvals.decision(call, "s").approval == "deny"


@given(st.lists(st.text(st.sampled_from("ab-_./:=,@+%é"), min_size=1), min_size=1).filter(lambda w: "=" not in w[0]))
def test_plain_words_are_read_as_they_are(words: list[str]) -> None:
    assert words_of(" ".join(words)) == tuple(words)


def words_for_sh(line: str) -> list[str]:
    """Return the words that `sh` makes of a line, by letting a function of that name tell them."""
    script = f"set -f; tell() {{ printf '%s\\0' \"$@\"; }}; tell {line}"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, timeout=10, check=False)
    assert done.returncode == 0, done
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=examples(150, 3000))
@given(st.text(st.sampled_from("ab '\"$`;&|<>()\\\n\t*?~#{}!=\u00a0\u2028"), max_size=12))
def test_a_line_is_plain_only_where_sh_starts_one_program_with_these_words(line: str) -> None:
    words = words_of(line)
    if words is not None:
        assert words_for_sh(line) == list(words)


def test_programs_of_a_line_are_found_between_what_separates_them() -> None:
    assert programs_of("a b; 'c' d\n(e|f)&&g `h i`") == (("a", "b"), ("c", "d"), ("e",), ("f",), ("g",), ("h", "i"))


@pytest.mark.parametrize(
    ("pattern", "fits"), [("*", True), ("* *", True), ("a *", True), ("b *", False), ("*b", False)]
)
def test_a_star_alone_stands_for_any_number_of_words(pattern: str, fits: bool) -> None:
    assert words_fit(pattern, ("a", "b")) is fits
    assert words_fit("*", ())

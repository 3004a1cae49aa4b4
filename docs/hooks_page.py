"""The reference page of the hooks, read from the source of the kernel and of the shipped plugins."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_INTRO = """
Generated from `bumble_core/hookspecs.py` by `python docs/generate.py`.

A plugin is a class with methods of these names, each marked with `@hookimpl` from `bumble_core`. Hooks run once,
synchronously, while a runtime is assembled, and only build objects; what happens in a turn happens in the methods of
those objects, the *ports*.

An implementation names only the arguments it uses, in any order. More arguments may be added later.

- A hook that **collects** takes a list from every plugin. Where two plugins offer one name, the shipped one stays;
  `prefer: {"tool:read_file": PLUGIN}` in the configuration settles it otherwise.
- A hook that fills a **slot** takes one object. `stages: {router: PLUGIN}` in the configuration decides; otherwise
  `@hookimpl(tryfirst=True)` comes before `@hookimpl`, and that before `@hookimpl(trylast=True)`, which the
  shipped plugins use. Two best claims of equal rank are an error. `@hookimpl(wrapper=True)` changes whoever fills the
  slot.

What `Settings`, `Request`, `TurnContext` and the other values hold stands in the modules of `bumble_core.types`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """A hook as one shipped plugin implements it."""

    plugin: str
    path: Path
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """What an occupant must do: its methods as source, without the docstring."""

    name: str
    words: str
    source: str


def hooks_page() -> str:
    """Describe every hook: arguments, port, and how a shipped plugin implements it."""
    ports = _ports()
    hooks = [node for node in _body("bumble_core/hookspecs.py") if isinstance(node, ast.FunctionDef)]
    found = implementations()
    rows = [f"| [`{hook.name}`](#{hook.name}) | {_kind(hook)} | `{_port(hook, ports)}` |" for hook in hooks]
    table = "\n".join(["| hook | kind | port |", "| --- | --- | --- |", *rows])
    sections = [_hook_section(hook, ports[_port(hook, ports)], found[hook.name]) for hook in hooks]
    return "\n\n".join(["# Hooks", _INTRO.strip(), table, *sections]) + "\n"


def implementations() -> dict[str, list[Implementation]]:
    """Return for each hook how the kernel's own plugin and those under `plugins/` implement it, shortest first."""
    found: dict[str, list[Implementation]] = {}
    for path in [ROOT / "bumble_core/builtin/__init__.py", *sorted((ROOT / "plugins").rglob("*.py"))]:
        text = path.read_text(encoding="utf-8")
        classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
        for method in (each for node in classes for each in node.body if isinstance(each, ast.FunctionDef)):
            if method.name.startswith("bumble_"):
                lines = text.splitlines()[_first_line(method) - 1 : method.end_lineno]
                source = textwrap.dedent("\n".join(lines))
                named = "core" if path.is_relative_to(ROOT / "bumble_core") else path.relative_to(ROOT).parts[1]
                entry = Implementation(plugin=named.removeprefix("bumble_"), path=path.relative_to(ROOT), source=source)
                found.setdefault(method.name, []).append(entry)
    return {name: sorted(entries, key=lambda e: (e.source.count("\n"), e.plugin)) for name, entries in found.items()}


def hook_names() -> tuple[str, ...]:
    """Return the name of every hook, in the order of `hookspecs.py`."""
    return tuple(node.name for node in _body("bumble_core/hookspecs.py") if isinstance(node, ast.FunctionDef))


def _hook_section(hook: ast.FunctionDef, port: Port, found: list[Implementation]) -> str:
    given = [f"- `{each.arg}: {ast.unparse(each.annotation)}`" for each in hook.args.args if each.annotation]
    returned = ast.unparse(hook.returns) if hook.returns else "None"
    plugins = ", ".join(sorted({f"`{each.plugin}`" for each in found}))
    example = found[0]
    return "\n\n".join(
        [
            f"## {hook.name}",
            f"{_kind(hook)}. {_docstring(hook)}",
            "Arguments:",
            "\n".join(given),
            f"Returns `{returned}`.",
            f"The {'port' if '(Protocol)' in port.source else 'value'} `{port.name}`: {port.words}",
            f"```py\n{port.source}\n```",
            f"Implemented by {plugins}. In `{example.path}`:",
            f"```py\n{example.source}\n```",
        ]
    )


def _ports() -> dict[str, Port]:
    """Read the ports from `ports.py` or the modules of a package of that name, and the values that hooks collect."""
    found: dict[str, Port] = {}
    core = ROOT / "bumble_core"
    for path in sorted([*core.glob("ports.py"), *core.glob("ports/*.py"), core / "types" / "languages.py"]):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                base = ast.unparse(node.bases[0])
                members = [each for each in node.body if not isinstance(each, ast.Expr)]
                first = min(_first_line(each) for each in members)
                lines = [f"class {node.name}({base}):", *text.splitlines()[first - 1 : node.end_lineno]]
                found[node.name] = Port(name=node.name, words=_docstring(node), source="\n".join(lines))
    return found


def _first_line(member: ast.stmt) -> int:
    decorators = member.decorator_list if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return min([member.lineno, *(decorator.lineno for decorator in decorators)])


def _docstring(node: ast.FunctionDef | ast.ClassDef) -> str:
    words = inspect.cleandoc(ast.get_docstring(node) or "")
    head, raises, errors = words.partition("\nRaises:\n")
    listed = "\n".join(f"- {line.strip()}" for line in errors.splitlines())
    return f"{head.rstrip()}\n\nIt raises:\n\n{listed}" if raises else words


def _kind(hook: ast.FunctionDef) -> str:
    return "Collects" if "_collect" in [ast.unparse(each) for each in hook.decorator_list] else "Slot"


def _port(hook: ast.FunctionDef, ports: Mapping[str, Port]) -> str:
    names = [node.id for node in ast.walk(hook.returns) if isinstance(node, ast.Name)] if hook.returns else []
    return next(name for name in names if name in ports)


def _body(path: str) -> list[ast.stmt]:
    return ast.parse((ROOT / path).read_text(encoding="utf-8")).body

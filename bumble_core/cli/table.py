"""The shipped commands and their summaries, so that `bumble --help` imports none of them."""

from __future__ import annotations

from typing import Final

COMMAND_GROUP: Final = "bumble_core.commands"
DISTRIBUTION: Final = "bumble-core"

SHIPPED: Final = {
    "run": "Answer one message.",
    "chat": "Talk with the agent in the terminal.",
    "plugins": "List the plugins: what each offers, or why it does not.",
    "stages": "Show who fills each stage, and why.",
    "route": "Explain how a message is routed, or measure the router.",
    "models": "List the models that can be asked, or fetch one.",
    "sessions": "List, show, compact, search, export or delete conversations.",
    "memory": "List, show, edit or compare what the agent remembers.",
    "gate": "Measure how often the completion gate is wrong.",
    "jobs": "Show what background jobs do, run one, or take a run back.",
    "daemon": "Run background jobs without a conversation.",
    "config": "Show, check or trust the configuration.",
    "doctor": "Check that everything works, and say what mends it.",
}

"""What a stage must do. One Protocol per slot or offer, one verb per Protocol, stores aside.

Collaborators reach a stage through the hook that builds it, data through its method. An occupant may also have
`async def aclose(self) -> None`; the runtime calls it once, when it closes. A wrapper does not pass it on: what it
wraps is closed by itself, after the wrapper.
"""

from __future__ import annotations

from .keeping import Documents, Sessions, Stamped, Tidied
from .people import Emit, ModelChoices, Observer, Surface
from .system import Clock, Files, Swapping
from .thinking import (
    Addressed,
    Cautious,
    Compactor,
    Downloads,
    Equipped,
    Exclusive,
    Explaining,
    Inference,
    Judge,
    Looking,
    Phase,
    Placed,
    PromptSection,
    Provider,
    Report,
    Router,
    SignalSource,
    Sizing,
    Timed,
    TokenCounter,
    Tool,
    ToolRunner,
)
from .working import Checked, Execute, Job, JobLedger, JobRunner

__all__ = [
    "Addressed",
    "Cautious",
    "Checked",
    "Clock",
    "Compactor",
    "Documents",
    "Downloads",
    "Emit",
    "Equipped",
    "Exclusive",
    "Execute",
    "Explaining",
    "Files",
    "Inference",
    "Job",
    "JobLedger",
    "JobRunner",
    "Judge",
    "Looking",
    "ModelChoices",
    "Observer",
    "Phase",
    "Placed",
    "PromptSection",
    "Provider",
    "Report",
    "Router",
    "Sessions",
    "SignalSource",
    "Sizing",
    "Stamped",
    "Surface",
    "Swapping",
    "Tidied",
    "Timed",
    "TokenCounter",
    "Tool",
    "ToolRunner",
]

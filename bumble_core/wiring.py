"""Call the hooks of one set of plugins, once, in the order in which their arguments become known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pluggy

from .broadcast import Broadcast
from .builtin.choices import FileModelChoices
from .builtin.read_output import with_reader
from .builtin.steady_counter import SteadyCounter
from .errors import ConfigError, PluginError
from .jobs.applying import Applying
from .jobs.bell import Bell
from .jobs.configured import configured_spec
from .jobs.controller import JobController, Keeping
from .jobs.courtesy import Courtesy
from .jobs.executor import JobExecutor
from .jobs.models import JobModels
from .jobs.views import Views
from .languages import merged
from .loop import Stages
from .metering import MeteredInference
from .parts import Parts
from .ports import (
    Clock,
    Compactor,
    Documents,
    Files,
    Inference,
    Job,
    JobLedger,
    JobRunner,
    Judge,
    Observer,
    Phase,
    PromptSection,
    Provider,
    Router,
    Sessions,
    SignalSource,
    Sizing,
    Surface,
    TokenCounter,
    Tool,
    ToolRunner,
)
from .prompt import Prompt, prompt_limits
from .room import Room
from .slots import Clash, by_name, collect, select
from .tool_calls import CallGate
from .types.languages import LanguagePack
from .types.plugins import Choice
from .types.settings import JobSettings, Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a runtime is built from beside its plugins."""

    settings: Settings
    home: Path
    clock: Clock
    files: Files


@dataclass(slots=True)
class Wiring:
    """One pass over the hooks. `clashes` are offers of one name that were left out; `occupants` are all others."""

    manager: pluggy.PluginManager
    shipped: frozenset[str]
    given: Given
    chosen: list[Choice] = field(default_factory=list)
    clashes: list[Clash] = field(default_factory=list)
    occupants: list[object] = field(default_factory=list)

    def parts(self) -> Parts:
        """Build everything that a runtime runs.

        Raises:
            PluginError: a hook of one plugin failed.
            ConfigError: the configuration names a stage's plugin, a phase or a job that does not exist.
        """
        given = self.given
        settings, home, clock, files = given.settings, given.home, given.clock, given.files
        broadcast = Broadcast(self._all("bumble_observers", Observer, home=home, settings=settings))
        kept = {"home": home, "files": files, "clock": clock, "settings": settings}
        documents = self._slot("documents", Documents, **kept)
        sessions = self._slot("sessions", Sessions, **kept)
        ledger = self._slot("job_ledger", JobLedger, **kept)
        counter = SteadyCounter(self._slot("token_counter", TokenCounter, **kept))
        choices = FileModelChoices(home, files, clock)
        providers = self._named("provider", Provider, lambda p: p.name, **kept)
        courtesy, bell = Courtesy(), Bell()
        inference = self._slot("inference", Inference, providers=courtesy.around(providers), **kept)
        meter = MeteredInference(inference, broadcast, settings.cognition, counter)
        jobs = self._jobs(inference=meter, sessions=sessions, counter=counter)
        specs = {name: configured_spec(job.spec, settings.jobs.get(name, JobSettings())) for name, job in jobs.items()}
        tools: Mapping[str, Tool] = self._named(
            "tool",
            Tool,
            lambda t: t.spec.name,
            documents=documents,
            sessions=sessions,
            providers=providers,
            choices=choices,
            jobs=tuple(specs.values()),
            clock=clock,
            settings=settings,
        )
        tools = with_reader(tools, settings.tools.max_output_chars)
        runner = self._slot("tool_runner", ToolRunner, tools=tools, clock=clock, settings=settings)
        sections = self._sections(
            inference=meter, documents=documents, sessions=sessions, clock=clock, settings=settings
        )
        specs_of_tools = tuple(tool.spec for tool in tools.values())
        prompt = Prompt(sections, specs_of_tools, prompt_limits(settings.cognition))
        languages = self._languages()
        stages = Stages(
            router=self._slot("router", Router, inference=meter, languages=languages, settings=settings),
            signals=self._all("bumble_signals", SignalSource, documents=documents, settings=settings),
            prompt=prompt,
            room=Room(
                prompt=prompt,
                tools=specs_of_tools,
                counter=counter,
                compactor=self._compactor(meter, counter, documents),
                sessions=sessions,
                settings=settings.cognition,
                emit=broadcast,
                sizing=next((each for each in self.occupants if isinstance(each, Sizing)), None),
            ),
            counter=counter,
            inference=meter,
            judge=self._slot("judge", Judge, inference=meter, tools=tools, languages=languages, settings=settings),
        )
        cognition = settings.agent.cognition
        executor = JobExecutor(
            jobs=jobs,
            specs=specs,
            views=Views(sessions, documents, counter, clock, settings.cognition.max_context_tokens),
            applying=Applying(documents, cognition.max_loss),
            ledger=ledger,
            meter=meter,
            models=JobModels(choices, settings, providers),
            clock=clock,
            emit=broadcast,
            courtesy=courtesy,
            bell=bell,
            places=asyncio.Semaphore(cognition.jobs_at_once),
        )
        job_runner = self._slot(
            "job_runner", JobRunner, execute=executor, ledger=ledger, clock=clock, settings=settings
        )
        keeping = Keeping(ledger, sessions, documents, cognition.keep_runs, cognition.keep_runs_days)
        enabled = [spec for name, spec in specs.items() if settings.jobs.get(name, JobSettings()).enabled]
        surfaces = self._named("surface", Surface, lambda s: s.name, settings=settings)
        if unknown := sorted(settings.gate.surfaces.keys() - surfaces.keys()):
            known = ", ".join(surfaces) or "none"
            raise ConfigError(f"gate.surfaces.{unknown[0]}: no such surface; installed: {known}")
        return Parts(
            settings=settings,
            home=home,
            clock=clock,
            files=files,
            broadcast=broadcast,
            stages=stages,
            meter=meter,
            runner=runner,
            gate=CallGate(tools, settings.tools),
            sessions=sessions,
            documents=documents,
            ledger=ledger,
            choices=choices,
            jobs=JobController(enabled, job_runner, keeping, clock, bell),
            execute=executor,
            job_runner=job_runner,
            providers=providers,
            tools=tools,
            surfaces=surfaces,
            chosen=tuple(self.chosen),
            occupants=tuple({id(each): each for each in self.occupants}.values()),
        )

    def _compactor(self, meter: MeteredInference, counter: TokenCounter, documents: Documents) -> Compactor:
        settings = self.given.settings
        phases = self._named(
            "compaction_phase",
            Phase,
            lambda phase: phase.name,
            inference=meter,
            counter=counter,
            documents=documents,
            settings=settings,
        )
        wanted = settings.cognition.history_compression.phases
        if missing := [name for name in wanted if name not in phases]:
            known = ", ".join(phases) or "none"
            raise ConfigError(f"cognition.history_compression.phases: no phase `{missing[0]}`; installed: {known}")
        ordered = [phases[name] for name in wanted]
        return self._slot("compactor", Compactor, phases=ordered, counter=counter, settings=settings)

    def _jobs(self, **collaborators: object) -> dict[str, Job]:
        settings = self.given.settings
        jobs = self._named("job", Job, lambda job: job.spec.id, **collaborators, settings=settings)
        if unknown := sorted(settings.jobs.keys() - jobs.keys()):
            raise ConfigError(f"jobs.{unknown[0]}: no such job; installed: {', '.join(jobs) or 'none'}")
        return jobs

    def _all(self, hook: str, port: type[T], **collaborators: object) -> list[T]:
        offers = collect(self.manager, hook, port, **collaborators)
        self.occupants += [offer.item for offer in offers]
        return [offer.item for offer in offers]

    def _languages(self) -> tuple[LanguagePack, ...]:
        offers = collect(self.manager, "bumble_languages", LanguagePack, settings=self.given.settings)
        return merged([offer.item for offer in offers])

    def _sections(self, **collaborators: object) -> list[PromptSection]:
        hook = "bumble_prompt_sections"
        offers = collect(self.manager, hook, PromptSection, **collaborators)
        for offer in offers:
            if offer.item.placement not in ("system", "turn"):
                place = f"`{hook}`: {type(offer.item).__name__}.placement is {offer.item.placement!r}"
                raise PluginError(offer.plugin, place, "write `system` or `turn`")
        self.occupants += [offer.item for offer in offers]
        return [offer.item for offer in offers]

    def _named(self, kind: str, port: type[T], name_of: Callable[[T], str], **collaborators: object) -> dict[str, T]:
        offers = collect(self.manager, f"bumble_{kind}s", port, **collaborators)
        index, clashes = by_name(offers, kind, name_of, self.shipped, self.given.settings.prefer)
        self.clashes += clashes
        self.occupants += index.values()
        return index

    def _slot(self, stage: str, port: type[T], **collaborators: object) -> T:
        wanted = dict(self.given.settings.stages).get(stage)
        layers, choice = select(self.manager, stage, port, wanted, **collaborators)
        self.chosen.append(choice)
        self.occupants += layers
        return layers[-1]

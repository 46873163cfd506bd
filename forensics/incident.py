"""``incident.toml`` to a frozen :class:`Incident`.

The file says what is being asked (case, scope, trigger) and how the logs are to
be read (zone, names of columns, declared capacity). An unknown key is an error
with a suggestion: a misspelt ``threshold_tokens`` that is ignored would change
who is told.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta, Struct

from forensics import schema
from forensics.attestations.record import Attestation
from forensics.errors import IncidentError
from forensics.sources.profiles.shape import WORDS, Profile

NonNegative = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(gt=0, le=1)]
Answer = Literal["shown", "assumed", "no"]
DURATION = r"^(P[0-9]+[DM]|PT[0-9]+H|P[0-9]+BD)$"
"""Hours, days, months, or days of the working week: ``PT72H``, ``P30D``, ``P1M``, ``P4BD``."""


class Case(Struct, frozen=True):
    """Name of the case, as printed on every output."""

    id: str = "unnamed"
    title: str = ""
    revision: Positive = 1
    supersedes: str = ""
    """Why this revision takes the place of the one before."""
    as_of: date | None = None
    """Day on which this revision is made; ages of rules are told against it."""


class Scope(Struct, frozen=True):
    """Which requests the case is about; the window is half-open."""

    models: tuple[str, ...] = ()
    window: tuple[datetime, datetime] | None = None


class Trigger(Struct, frozen=True):
    """What makes a request suspect, and in which direction data went."""

    mechanism: Literal["read", "write", "unknown"] = "read"
    threshold_tokens: NonNegative | None = None
    slack_tokens: NonNegative = 0


class Timeline(Struct, frozen=True):
    """Dates of the incident, for the report. While the model is off, no log lacks a record."""

    introduced: datetime | None = None
    detected: datetime | None = None
    model_off: datetime | None = None
    fixed: datetime | None = None
    restored: datetime | None = None


class Logs(Struct, frozen=True):
    """How the logs are to be read; ``profiles`` describe formats that are not built in."""

    timezone: str | None = None
    epoch_unit: Literal["s", "ms", "us", "ns"] | None = None
    sampling_rate: Share = 1.0
    tenant_from: tuple[str, ...] = ()
    node_from: str | None = None
    profiles: tuple[Profile, ...] = ()


class DeclaredCapacity(Struct, frozen=True):
    """A pool that no log holds, stated by hand; ``node`` may be a glob."""

    node: str = "*"
    role: Literal["prefill", "decode", "unified"] = "prefill"
    effective_at: datetime | None = None
    engine: str | None = None
    engine_version: str | None = None
    model_version: str | None = None
    pool_tokens: Positive | None = None
    page_tokens: Positive | None = None
    context_tokens: Positive | None = None
    input_limit_tokens: Positive | None = None
    disaggregated: bool | None = None
    auto_truncate: bool | None = None
    allocator: Literal["sorted-sweep", "lifo", "fifo", "fifo-tail-first", "unknown"] | None = None


class Pool(Struct, frozen=True):
    """One shared pool of the inventory, for the audit.

    An answer is ``shown`` only with the ``evidence`` that shows it; by itself it is assumed.
    """

    name: str
    owner: str = ""
    size: NonNegative | None = None
    largest_request: NonNegative | None = None
    damage: Annotated[int, Meta(ge=1, le=5)] | None = None
    covers_largest: Answer = "assumed"
    rejects_first: Answer = "assumed"
    receiver_verifies: Answer = "assumed"
    evidence: str = ""


class Clock(Struct, frozen=True):
    """Whether a legal rule applies, as a person decided; ``duration`` is of a contract's clause.

    ``rule`` is an id of the file of rules, or the name of a clause with its own duration.
    """

    rule: str
    applies: Literal["yes", "no", "assess"]
    reason: str = ""
    started: datetime | None = None
    done: datetime | None = None
    duration: Annotated[str, Meta(pattern=DURATION)] | None = None


class Published(Struct, frozen=True):
    """Figures that were published of the incident; the report sets its own beside them."""

    threshold_tokens: NonNegative | None = None
    pool_tokens: NonNegative | None = None
    context_tokens: NonNegative | None = None
    responses: NonNegative | None = None
    tenants: NonNegative | None = None
    first: datetime | None = None
    last: datetime | None = None
    fixed_version: str | None = None


class Incident(Struct, frozen=True):
    """The whole file. An empty one asks about everything in the logs."""

    case: Case = Case()
    scope: Scope = Scope()
    trigger: Trigger = Trigger()
    timeline: Timeline = Timeline()
    logs: Logs = Logs()
    columns: dict[str, str] = {}
    capacity: tuple[DeclaredCapacity, ...] = ()
    pool: tuple[Pool, ...] = ()
    clock: tuple[Clock, ...] = ()
    published: Published = Published()
    attestations: tuple[Attestation, ...] = ()
    """Of the file that ``[case] verdicts`` names: what reviewers attested."""

    @property
    def window_us(self) -> tuple[int, int] | None:
        """The window in microseconds of UTC, or None when it is open."""
        if self.scope.window is None:
            return None
        start, end = self.scope.window
        return micros(start), micros(end)

    @property
    def off_us(self) -> tuple[int, int] | None:
        """From when until when (µs) the model was out of service, where the timeline has both."""
        start, end = self.timeline.model_off, self.timeline.restored
        return None if start is None or end is None else (micros(start), micros(end))


def micros(moment: datetime) -> int:
    """Return microseconds of UTC since 1970, exactly."""
    delta = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def load(source: Incident | Path | str | None) -> Incident:
    """Return the incident of a file, or an empty one.

    Raises:
        IncidentError: the file is missing, is no TOML, or holds a key or value
            that cannot be right.
    """
    if source is None:
        return Incident()
    if isinstance(source, Incident):
        return source
    path = Path(source)
    try:
        document = _with_profiles(tomllib.loads(path.read_text(encoding="utf-8")), path.parent)
        document = _with_verdicts(document, path.parent)
    except OSError as error:
        raise IncidentError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IncidentError(f"{path}: not valid TOML ({error})") from None
    try:
        return parse(document)
    except IncidentError as error:
        raise IncidentError(f"{path}: {error}") from None


def _with_profiles(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the document with the files that ``[logs] profiles`` names in place of their names.

    So whatever holds the incident holds how its logs were read, byte for byte.
    """
    logs = document.get("logs")
    named = logs.get("profiles") if isinstance(logs, dict) else None
    if not isinstance(logs, dict) or not isinstance(named, list):
        return document
    return {**document, "logs": {**logs, "profiles": [_profile(item, folder) for item in named]}}


def _with_verdicts(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the document with the attestations of the file that ``[case] verdicts`` names."""
    case = document.get("case")
    name = case.get("verdicts") if isinstance(case, dict) else None
    if not isinstance(case, dict) or not isinstance(name, str):
        return document
    rest = {key: value for key, value in case.items() if key != "verdicts"}
    return {**document, "case": rest, "attestations": attestations_of(folder / name)}


def attestations_of(path: Path) -> list[dict[str, Any]]:
    """Return the attestations of ``verdicts.csv`` as plain objects."""
    from forensics.attestations.read import read  # few incidents have some

    return [msgspec.to_builtins(row) for row in read(path)]


def with_verdicts(incident: Incident, path: Path | None) -> Incident:
    """Return an incident with the attestations of a file instead of its own.

    Raises:
        IncidentError: the file cannot be right.
    """
    if path is None:
        return incident
    rows = msgspec.convert(attestations_of(path), tuple[Attestation, ...])
    return msgspec.structs.replace(incident, attestations=rows)


def profile_files(path: Path) -> list[Path]:
    """Return the files, of profiles and of verdicts, that a readable incident file names."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    profiles = document.get("logs", {}).get("profiles", ())
    named = [*profiles, document.get("case", {}).get("verdicts")]
    return [path.parent / item for item in named if isinstance(item, str)]


def _profile(item: Any, folder: Path) -> Any:
    if not isinstance(item, str):
        return item
    try:
        profile = tomllib.loads((folder / item).read_text("utf-8"))
    except OSError as error:
        raise IncidentError(f"logs.profiles: {item}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IncidentError(f"logs.profiles: {item}: not valid TOML ({error})") from None
    try:
        parse({"logs": {"profiles": [profile]}})
    except IncidentError as error:
        said = str(error).replace("$.logs.profiles[0]", "$").replace("'logs.profiles.", "'")
        raise IncidentError(f"logs.profiles: {item}: {said}") from None
    return profile


def parse(document: dict[str, Any]) -> Incident:
    """Return the incident of a decoded TOML document, checked."""
    _refuse_unknown_keys(document, Incident, "")
    try:
        incident = msgspec.convert(document, Incident)
    except msgspec.ValidationError as error:
        raise IncidentError(f"{error}{_known(str(error))}") from None
    _check(incident)
    return incident


def _known(fault: str) -> str:
    """Return the words that may stand where a profile has another one; empty elsewhere."""
    at = re.match(r"Invalid enum value .* - at `\$\.logs\.profiles\[.*\.(\w+)(?:\[\d+\])?`$", fault)
    words = WORDS.get(at[1], ()) if at is not None else ()
    return f"; known: {', '.join(words)}" if words else ""


def _refuse_unknown_keys(value: Any, kind: Any, where: str) -> None:
    """Raise for the first key that no struct field has, with the nearest name."""
    if get_origin(kind) is tuple:
        for item in value if isinstance(value, list) else ():
            _refuse_unknown_keys(item, get_args(kind)[0], where)
        return
    if not (isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict)):
        return
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, inner in value.items():
        if key not in fields:
            near = difflib.get_close_matches(key, fields, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(fields)}"
            home = _home(key) if not where else ""
            raise IncidentError(f"unknown key {where + key!r}{home or hint}")
        _refuse_unknown_keys(inner, fields[key], f"{where}{key}.")


def _home(key: str) -> str:
    """Say under which heading a key belongs that stands under none; empty if under none."""
    homes = []
    for section in msgspec.structs.fields(Incident):
        rows = get_origin(section.type) is tuple
        kind = get_args(section.type)[0] if rows else section.type
        if isinstance(kind, type) and issubclass(kind, Struct) and key in kind.__struct_fields__:
            homes.append(f"[[{section.name}]]" if rows else f"[{section.name}]")
    return f"; it belongs under {' or '.join(homes)}" if homes else ""


def _check(incident: Incident) -> None:
    """Raise for values that are well-formed but cannot be right."""
    _check_window(incident)
    _check_logs(incident.logs)
    _check_columns(incident.columns)
    for name in msgspec.structs.fields(Timeline):
        _aware(getattr(incident.timeline, name.name), f"timeline.{name.name}")
    for row in incident.capacity:
        _aware(row.effective_at, "capacity.effective_at")
    _check_clocks(incident.clock)
    for end in ("first", "last"):
        _aware(getattr(incident.published, end), f"published.{end}")


def _check_clocks(clocks: tuple[Clock, ...]) -> None:
    """Raise where a rule stands there twice and it is not for two starts of one duty."""
    starts: dict[str, set[datetime | None]] = {}
    for clock in clocks:
        _aware(clock.started, "clock.started")
        _aware(clock.done, "clock.done")
        known = starts.setdefault(clock.rule, set())
        if known and {other.applies for other in clocks if other.rule == clock.rule} != {"yes"}:
            raise IncidentError(f"clock {clock.rule!r}: more than one decision; state one")
        if clock.started in known:
            raise IncidentError(f"clock {clock.rule!r}: stands there twice with the same start")
        known.add(clock.started)


def _aware(moment: datetime | None, where: str) -> None:
    if moment is not None and moment.tzinfo is None:
        raise IncidentError(f"{where} has no zone; write 2026-08-27T00:00:00Z")


def _check_window(incident: Incident) -> None:
    if incident.scope.window is None:
        return
    for moment in incident.scope.window:
        _aware(moment, "scope.window")
    start, end = incident.scope.window
    if start >= end:
        raise IncidentError("scope.window ends before it starts (it is half-open: [start, end))")


def _check_logs(logs: Logs) -> None:
    _check_profiles(logs.profiles)
    if logs.timezone is not None:
        try:
            ZoneInfo(logs.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise IncidentError(f"logs.timezone {logs.timezone!r} is no known zone") from None
    if logs.node_from is not None:
        try:
            pattern = re.compile(logs.node_from)
        except re.error as error:
            raise IncidentError(f"logs.node_from is no valid pattern ({error})") from None
        if "node" not in pattern.groupindex:
            raise IncidentError("logs.node_from has no group named 'node': (?P<node>...)")


def _check_profiles(profiles: tuple[Profile, ...]) -> None:
    if not profiles:
        return
    from forensics.sources.profiles.check import check  # it reads logs, as few incidents need it

    names = [check(profile).name for profile in profiles]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise IncidentError(f"logs.profiles names {min(twice)!r} twice")


def _check_columns(columns: dict[str, str]) -> None:
    known = {
        column.name
        for group in (
            schema.OBSERVATION_COLUMNS,
            schema.CAPACITY_COLUMNS,
            schema.MARKER_COLUMNS,
        )
        for column in group
    }
    for foreign, ours in columns.items():
        if ours not in known:
            near = difflib.get_close_matches(ours, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise IncidentError(f"columns.{foreign} names no column: {ours!r}{hint}")
    targets = list(columns.values())
    twice = {name for name in targets if targets.count(name) > 1}
    if twice:
        raise IncidentError(f"columns maps two names to {min(twice)!r}")

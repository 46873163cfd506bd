"""How the logs of an evidence set were read, and what that asks of those who read the set."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from forensics.errors import UsageError
from forensics.incident import Incident, Logs
from forensics.sources.profiles.shape import Profile


class Settings(Struct, frozen=True):
    """How the logs of a set were read; logs read otherwise do not belong into it."""

    columns: dict[str, str] = {}
    timezone: str | None = None
    epoch_unit: str | None = None
    tenant_from: tuple[str, ...] = ()
    node_from: str | None = None
    format: str | None = None
    profiles: tuple[Profile, ...] = ()

    @classmethod
    def of(cls, incident: Incident, format_name: str | None) -> Settings:
        """Return the settings that an incident file states."""
        logs = incident.logs
        return cls(
            dict(sorted(incident.columns.items())),
            logs.timezone,
            logs.epoch_unit,
            logs.tenant_from,
            logs.node_from,
            format_name,
            logs.profiles,
        )

    def differ(self, other: Settings) -> list[str]:
        """Return the names of those that are not the same."""
        names = self.__struct_fields__
        return [name for name in names if getattr(self, name) != getattr(other, name)]


def adopted(incident: Incident, sets: Iterable[Settings]) -> Incident:
    """Return the incident with the settings that some sets were read by.

    An incident file that states none of them leaves them to the sets; one that states
    others would judge rows by settings that they were not read by.

    Raises:
        UsageError: they differ.
    """
    for settings in sets:
        asked = Settings.of(incident, settings.format)
        if asked == Settings(format=settings.format):
            incident = _with(incident, settings)
        elif names := asked.differ(settings):
            raise UsageError(f"the evidence set was read by other settings: {', '.join(names)}")
    return incident


def _with(incident: Incident, settings: Settings) -> Incident:
    logs = Logs(
        timezone=settings.timezone,
        epoch_unit=settings.epoch_unit,  # type: ignore[arg-type]
        sampling_rate=incident.logs.sampling_rate,
        tenant_from=settings.tenant_from,
        node_from=settings.node_from,
        profiles=settings.profiles,
    )
    return msgspec.structs.replace(incident, logs=logs, columns=settings.columns)

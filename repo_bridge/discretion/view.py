"""Who looks, and when: an anonymous visitor at one moment, in the time zone of the server."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from repo_bridge.moments import Day, day_at


@dataclass(frozen=True, kw_only=True)
class View:
    """What an anonymous visitor is shown at the time `at` (UTC).

    `zone` is the time zone of the server, in which days begin (rule 5). `bundles` are those whose files are wanted
    (rule 7), in the order in which they are given. `hidden` are fields to hide beside those that are always hidden
    (rule 8), as `schema.element.qualifier`. `fingerprints` is false where the server alters files as it serves them, so
    that hash and length do not hold (rule 16).
    """

    at: datetime
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    bundles: tuple[str, ...] = ("ORIGINAL",)
    hidden: frozenset[str] = frozenset()
    fingerprints: bool = True

    @cached_property
    def today(self) -> Day:
        """The day that it is for the server."""
        return day_at(self.at, self.zone)

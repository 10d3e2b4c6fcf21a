"""Who looks, and when: an anonymous visitor at one moment, in the server's time zone."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from repo_bridge.dates import FIRST_ZONE, LAST_ZONE, Today, day_at


@dataclass(frozen=True, kw_only=True)
class AnonymousView:
    """The point of view of an anonymous visitor at the time `at` (UTC).

    `zone` is the server's time zone, in which days begin (rule 5); without it, an object is public only while it is
    public in every time zone. `bundles` are the names of the bundles whose files
    are published, in this order (rule 7). `hidden` are fields to hide in addition to those that are always hidden, as
    `schema.element.qualifier` (rule 8). `fingerprints` is false if the server alters files as it serves them, so that
    hash and length are not known (rule 16).
    """

    at: datetime
    zone: ZoneInfo | None = None
    bundles: tuple[str, ...] = ("ORIGINAL",)
    hidden: frozenset[str] = frozenset()
    fingerprints: bool = True

    @cached_property
    def today(self) -> Today:
        """The current day in the server's time zone, or in the zones where it begins last and first."""
        return Today(day_at(self.at, self.zone or LAST_ZONE), day_at(self.at, self.zone or FIRST_ZONE))

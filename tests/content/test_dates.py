"""The dates that pages give of themselves, and which of them are dates of a build or of publishing."""

from datetime import UTC, datetime

import pytest

from pelican_resourcesync.content import content_dates, read_dates
from pelican_resourcesync.content.dates import Dates

DATA = '<script type="application/ld+json">'
BEGAN = datetime(2026, 6, 15, 12, tzinfo=UTC)


def on(day: int, month: int = 3) -> datetime:
    """Return a time of a day in 2026."""
    return datetime(2026, month, day, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<meta property="article:modified_time" content="2026-03-01T08:00:00Z">', Dates(on(1))),
        ('<meta name="DCTERMS.modified" content="2026-03-01T09:00:00+01:00">', Dates(on(1))),
        ('<meta property="article:published_time" content="2026-03-01T08:00:00Z">', Dates(None, on(1))),
        ('<p><time itemprop="dateModified" datetime="2026-03-01T08:00:00Z">1 March</time>', Dates(on(1))),
        ('<p><time datetime="2026-03-01T08:00:00Z">an event</time>', Dates()),
        (
            f"{DATA}{{'@graph': [{{'dateModified': '2026-03-02', 'datePublished': '2026-03-01'}}]}}".replace("'", '"'),
            Dates(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
        ),
        ('<script type="application/ld+json">{"dateModified": [1]}</script>', Dates()),
        ('<script type="application/ld+json">{"dateModified": </script>', Dates()),
        ('<meta property="og:updated_time" content="yesterday">', Dates()),
        ("", Dates()),
    ],
)
def test_what_pages_say(markup: str, expected: Dates) -> None:
    """Modified and published, as generators and plug-ins write it; what cannot be read is not there."""
    assert read_dates(markup.encode()) == expected


DAYS = [on(number) for number in range(1, 21)]


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        ([Dates(day) for day in DAYS], DAYS),
        ([Dates(on(1))] * 9 + [Dates(on(2))], [on(2)]),
        ([Dates(on(1))] * 8 + [Dates(on(2)), Dates()], [on(1)] * 8 + [on(2)]),
        ([Dates(on(1))] * 9, [on(1)] * 9),
        ([Dates(on(15, 6)), Dates(on(14, 6)), Dates(on(1))], [on(14, 6), on(1)]),
        ([Dates(on(16, 6)), Dates(on(1))], [on(1)]),
        ([Dates(day, day) for day in DAYS], []),
        ([Dates(on(9), day) for day in DAYS[:5]] + [Dates(day, day) for day in DAYS[5:]], [on(9)] * 5 + DAYS[5:]),
    ],
    ids=["days", "one day", "less", "few", "built today", "to come", "published", "some edited"],
)
def test_dates_of_content(dates: list[Dates], expected: list[datetime]) -> None:
    """A day of the build, one day of nearly all, a time to come and a date of publishing say nothing of the content."""
    pages = {str(number): page for number, page in enumerate(dates)}
    assert [*content_dates(pages, BEGAN).values()] == expected

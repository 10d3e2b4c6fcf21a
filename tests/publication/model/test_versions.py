"""Of which times versions are public, and of which they no longer are."""

from datetime import datetime

import pytest

from pelican_resourcesync.publication.model.versions import PublicVersions
from tests.kit.publications import utc


@pytest.mark.parametrize(
    ("since", "begin", "until", "lost"),
    [
        (utc("2024-03-01"), utc("2024-01-01"), utc("2024-02-01"), False),  # there were none before, either
        (utc("2024-03-01"), utc("2024-01-01"), utc("2024-02-15"), True),
        (utc("2024-03-01"), utc("2024-02-20"), utc("2024-02-25"), True),
        (utc("2024-03-01"), utc("2024-02-20"), None, True),
        (utc("2024-03-01"), utc("2024-03-01"), utc("2024-03-10"), False),
        (utc("2024-02-10"), utc("2024-01-01"), utc("2024-03-10"), False),  # nothing was removed
        (None, utc("2024-01-01"), utc("2024-02-15"), True),
    ],
)
def test_lost(since: datetime | None, begin: datetime, until: datetime | None, lost: bool) -> None:
    """Versions had been public since 10 February."""
    assert PublicVersions(since, utc("2024-02-10")).lost(begin, until) is lost
    assert not PublicVersions(since, None).lost(begin, until)

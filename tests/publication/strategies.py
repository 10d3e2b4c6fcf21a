"""What the property tests of publications draw from: times, and where ranges are divided."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from pelican_resourcesync.publication.model.ranges import Calendar, FixedBoundaries
from pelican_resourcesync.settings import PERIODS

#: Of some months, on midnight and beside it.
times = st.builds(
    lambda day, off: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=day, milliseconds=off),
    st.integers(0, 90),
    st.integers(-2, 2),
)
boundaries = st.builds(Calendar, st.sampled_from(PERIODS)) | st.builds(
    lambda marks: FixedBoundaries(sorted(marks)), st.lists(times, max_size=4)
)

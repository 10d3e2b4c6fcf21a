"""Change Dumps: when the first one begins (what they hold: test_writer; how many there are: test_archives)."""

from pelican_resourcesync.publication.dumps.changedump import begin_of_dumps
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Representation
from tests.publication.support import DELETED, change, utc

HELD = Representation(length=1)


def test_begin_by_hand() -> None:
    """After the last change of which there are no bytes, and only if there are any of a later one."""
    january, february, march = (f"2024-0{month}-05T12:00" for month in (1, 2, 3))
    ranges = [Range(utc("2024-01-01"))]
    built = change(february, "a.html", representation=HELD)
    gone = change(march, "a.html", DELETED)
    assert begin_of_dumps([built, gone], ranges) == utc("2024-01-01")
    assert begin_of_dumps([change(january, "b.html"), built, gone], ranges) == utc(january)
    assert begin_of_dumps([built, change(march, "b.html")], ranges) is None
    assert begin_of_dumps([gone], ranges) is None
    assert begin_of_dumps([], []) is None

"""Several sets of one site: published together, each by itself, all or none."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import ChangeKind, Limits
from pelican_resourcesync.publication import Publication, PublishRequest, publications_in, publish_sets
from pelican_resourcesync.publication.model.ranges import Calendar
from pelican_resourcesync.publication.model.resource import FileResources, Resource
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.faults import disturbed, fail
from tests.kit.publications import EVERYTHING, SITEURL, Source, tree
from tests.kit.unpacking import resource_dump, resources_in
from tests.kit.watching import Watch, read
from tests.publication.kinds.dumps.test_writer import seen


@pytest.fixture
def sources(tmp_path: Path) -> list[Source]:
    """Return three sets of one output, with ranges of their own."""
    periods = {"site": "month", "papers": "day", "pictures": "year"}
    return [Source(tmp_path / "output", Calendar(period), set_name=name) for name, period in periods.items()]


def request(source: Source, contents: Mapping[str, bytes], day: int, **options: Any) -> PublishRequest:
    """Ask for the publication of a set, with dumps and archives."""
    return source.request(contents, f"2024-01-{day:02}T12:00", **(EVERYTHING | options))


def publish_day(sources: list[Source], day: int) -> list[Publication]:
    """Publish sets together, all of them with other resources; one is in two."""
    contents = [{f"{source.set_name}.html": b"%d" % day, "shared.html": b"%d" % (day // 2)} for source in sources]
    return publish_sets([request(source, each, day) for source, each in zip(sources, contents, strict=True)])


def described(source: Source) -> list[str]:
    """Return the Capability Lists that the Source Description names."""
    items = source.document(f"{SITEURL}/.well-known/resourcesync").entries
    assert items == source.document(f"{SITEURL}/resourcesync/description.xml").entries
    return [item.uri for item in items]


def test_each_is_a_publication_by_itself(sources: list[Source]) -> None:
    """SD03: one Source Description names all; each set has its folder, its state, its dumps and archives."""
    watches = [Watch(source) for source in sources]
    for day in range(1, 7):
        counts = publish_day(sources, day)
        assert [each.resources for each in counts] == [2, 2, 2]
        assert [each.first for each in counts] == [day == 1] * 3
        assert described(sources[0]) == [
            f"{SITEURL}/resourcesync/{name}/capabilitylist.xml" for name in ("papers", "pictures", "site")
        ]
        for source, watch in zip(sources, watches, strict=True):
            contents = {f"{source.set_name}.html": b"%d" % day, "shared.html": b"%d" % (day // 2)}
            watch.look(contents, **EVERYTHING)
    lists = [len(source.change_lists()) for source in sources]
    assert lists == [1, 6, 1]
    assert all(watch.checked > 10 for watch in watches)
    found = publications_in(sources[0].output)
    assert [each.layout.set_name for each in found] == ["site", "papers", "pictures"]
    assert [each.state.generation for each in found] == [6, 6, 6]
    page = (sources[0].output / "resourcesync/index.html").read_text("utf-8")
    assert all(f'href="{source.set_name}/index.html"' in page for source in sources)


def test_all_or_nothing(sources: list[Source]) -> None:
    """Where one set cannot be published, none is, whichever comes first."""
    many = {f"{number}.txt": b"many" for number in range(30)}
    publish_sets([request(source, many, 1) for source in sources])
    before = tree(sources[0].output / "resourcesync")
    good = request(sources[0], {**many, "new.html": b"new"}, 2)
    resources = [Resource(f"{SITEURL}/{path}", sources[1].write(path, data)) for path, data in many.items()]
    right = Resource(f"{SITEURL}/a.html", sources[1].write("a.html", b"a"))
    wrong = right._replace(measured=seen(b"b"))
    bad = replace(request(sources[1], {}, 2), resources=FileResources([*resources, wrong]))
    for requests in ([good, bad], [bad, good]):
        with pytest.raises(PublicationError, match=r"a\.html changed while it was packed"):
            publish_sets(requests)
        assert tree(sources[0].output / "resourcesync") == before
    assert (
        publish_sets([good, replace(bad, resources=FileResources([*resources, right]))])[1].new[ChangeKind.CREATED] == 1
    )


def test_whatever_fails_no_set_goes_ahead_of_the_others(sources: list[Source]) -> None:
    """Some calls into the output are made to fail: the sets are of one publication, the old or the new."""
    output = sources[0].output
    publish_day(sources[:2], 1)
    requests = [request(source, {f"{source.set_name}.html": b"2", "shared.html": b"1"}, 2) for source in sources[:2]]
    before = tree(output / "resourcesync")
    outcomes = set()
    with disturbed(output, "exchange", 0, fail(0)) as undisturbed:
        pass
    for at in range(5, 1_000, 60):
        try:
            with disturbed(output, "exchange", at, fail(at)) as undisturbed:
                publish_sets(requests)
        except PublicationError:
            assert tree(output / "resourcesync") == before
            outcomes.add(False)
        else:
            generations = {each.state.generation for each in publications_in(output)}
            assert generations == {2}
            outcomes.add(True)
            break
    assert outcomes == {True, False}
    assert len(undisturbed.calls) > 100


def test_each_has_options_of_its_own(sources: list[Source]) -> None:
    """Dumps, archives, limits and packages of one are no matter of the other."""
    for day in (1, 2, 3):
        contents = {"a.png": bytes(9_000), "b.png": b"%d" % day}
        publish_sets(
            [
                request(sources[0], contents, day, limits=Limits(entries=1)),
                request(sources[1], contents, day, dumps=Dumps(), archives=Archives()),
                request(sources[2], contents, day, dumps=Dumps(resourcedump=True, package_size=1)),
            ]
        )
    kinds = [set(source.capabilities()) for source in sources]
    assert {"resourcedump", "changedump"} <= kinds[0]
    assert not {"resourcedump", "changedump"} & kinds[1]
    assert kinds[2] & {"resourcedump", "changedump"} == {"resourcedump"}
    dumps = [
        resource_dump(lambda uri: read(sources[0], uri), sources[each].capabilities()["resourcedump"])
        for each in (0, 2)
    ]
    assert [len(each) for each in dumps] == [2, 2]
    assert resources_in(dumps[0]) == resources_in(dumps[1])

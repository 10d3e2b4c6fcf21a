"""The publication at a URL: real publications on a live site, well and badly served."""

import gzip
import json
import re
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import Bounds, Web
from pelican_resourcesync.publication.previous.fetch import (
    FetchClock,
    Fetched,
    FetchLimits,
    NoPublication,
    fetch_publication,
)
from pelican_resourcesync.publication.previous.previous import read_previous
from pelican_resourcesync.settings import VersionOptions
from tests.kit.live import (
    PAGE,
    Ask,
    Live,
    Manner,
    chunked,
    closed_port,
    content,
    dripping,
    endless,
    files,
    first,
    front,
    late,
    live,
    page,
    redirect,
    status,
    truncated,
)
from tests.kit.publications import LAYOUT, STATE, Source, is_listed

ADVICE = (
    "nothing was changed: try again later, or publish once with RESOURCESYNC_FIRST=1 in the environment,"
    " which starts over at new addresses"
)
EMPTY = " (if nothing was deployed there yet, deploy the site once without this plug-in)"
HALF = "It is damaged, or still being deployed"
DESCRIPTION, WELL_KNOWN = "resourcesync/description.xml", ".well-known/resourcesync"
RESOURCE_LIST = "resourcesync/site/resourcelist.xml"
CAPABILITY_LIST = "resourcesync/site/capabilitylist.xml"
INDEX = "resourcesync/site/changelist.xml"
ARCHIVE = "resourcesync/site/changelist-archive.xml"
CLOSED_LIST = "resourcesync/site/changelist-20240101T000000Z.xml"
CLOSED_PAGE = "resourcesync/site/changes/20240101T000000Z.html"
OPEN_PAGE = "resourcesync/site/changes/20240201T000000Z.html"
OPEN_LIST = "resourcesync/site/changelist-20240201T000000Z.xml"
GONE = "resourcesync/site/resourcelist-20240101T000000Z-00001.xml"


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.slept.append(seconds)
        self.now += seconds

    @property
    def clock(self) -> FetchClock:
        """Return it as the fetch takes it."""
        return FetchClock(now=lambda: self.now, sleep=self.sleep)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Return a publication of January, which no test alters."""
    source = Source(tmp_path_factory.mktemp("old"))
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    return source


@pytest.fixture(scope="module")
def new(old: Source, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Return the publication of February that followed it, which no test alters."""
    output = tmp_path_factory.mktemp("new") / "output"
    shutil.copytree(old.output, output)
    source = Source(output)
    source.publish({"a.html": b"bb"}, "2024-02-05T12:00")
    return source


@pytest.fixture
def source(new: Source, tmp_path: Path) -> Source:
    """Return a copy of it, to alter."""
    shutil.copytree(new.output, tmp_path / "output")
    return Source(tmp_path / "output")


@pytest.fixture
def site(new: Source) -> Iterator[Live]:
    """Yield a live site of the publication of February."""
    with live(files(new.output)) as site:
        yield site


@pytest.fixture
def into(tmp_path: Path) -> Path:
    """Return where to bring it."""
    return tmp_path / "into"


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by path."""
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def vouched(source: Source) -> dict[str, bytes]:
    """Return what a fetch brings of a publication: the documents that its state lists, and the state."""
    shared = (DESCRIPTION, WELL_KNOWN)
    return {path: data for path, data in source.documents().items() if path not in shared and is_listed(path)}


def fetched(site: Live, into: Path, known: Path | None = None, **options: Any) -> Fetched:
    """Fetch what must be there."""
    found = fetch_publication(Web(site.url), into, known, **options)
    assert isinstance(found, Fetched)
    return found


def failure(site: Live, into: Path, **options: Any) -> str:
    """Return what is said where nothing can be fetched, without the advice; `URL` is the site. Nothing is written.

    `bounds` are those of the web.
    """
    web = Web(site.url, options.pop("bounds", Bounds()))
    with pytest.raises(PublicationError) as caught:
        fetch_publication(web, into, **options)
    assert not into.exists()
    message = str(caught.value)
    begin, end = f"the publication at {site.url} cannot be read: ", f"; {ADVICE}"
    assert message.startswith(begin)
    assert message.endswith(end)
    return message.removeprefix(begin).removesuffix(end).replace(site.url, "URL")


def test_whole(site: Live, new: Source, into: Path) -> None:
    """Every document that the state lists comes once, byte for byte, and can be read back as from an output."""
    found = fetched(site, into)
    assert contents(into) == vouched(new)
    pages = {CLOSED_PAGE, OPEN_PAGE, *(page.replace(".html", ".json") for page in (CLOSED_PAGE, OPEN_PAGE))}
    assert {RESOURCE_LIST, CAPABILITY_LIST, INDEX, ARCHIVE, CLOSED_LIST, OPEN_LIST, STATE, *pages} == set(
        contents(into)
    )
    assert site.asked() == Counter(contents(into).keys())
    assert (found.folder, found.received, found.state.generation) == (into, 10, 2)
    assert found.state.digest == sha256((new.output / STATE).read_bytes()).hexdigest()
    previous, there = read_previous(into, LAYOUT), new.previous()
    assert previous is not None
    assert there is not None
    assert previous.state == there.state
    assert [*previous.resources.items()] == [*there.resources.items()]
    assert previous.open
    assert there.open
    ours, theirs = ((each.start, each.until, each.counts, [*each.changes]) for each in (previous.open, there.open))
    assert ours == theirs


@pytest.mark.parametrize(
    "manner",
    [
        page,
        content(PAGE, Content_Type="application/json"),
        content(b"Not here, sorry", Content_Type="text/html"),
        content(b"\xef\xbb\xbf\r\n<Error><Code>NoSuchKey</Code></Error>", Content_Type="application/xml"),
    ],
)
def test_page_for_absent_files(manner: Manner, into: Path) -> None:
    """A host that answers with a page for absent files, and has another at the front, has no publication."""
    with live(front(b"<title>Birds</title><p>Welcome", manner)) as site:
        assert fetch_publication(Web(site.url), into) == NoPublication(f"{site.url}/{STATE}")


def changing(text: str) -> Manner:
    """Answer with a page that has a random word, the path and the number of the request in it."""

    def answer(ask: Ask) -> None:
        word = "".join(chr(ord(each) % 10 + ord("a")) for each in token_hex(8))
        values = {"word": word, "path": ask.path, "number": len(ask.handler.live.asks)}
        ask.send(200, text.format(**values).encode(), Content_Type="text/html")

    return answer


def renewed(every: int) -> Manner:
    """Answer with a page that has another word after some requests, as a clock does."""
    return lambda ask: content(b"<p>wait " + b"x" * (len(ask.handler.live.asks) // every))(ask)


@pytest.mark.parametrize(
    "manner",
    [
        page,
        content(b"", Content_Type="text/html"),
        content(b"<?xml version='1.0'?><Error/>", Content_Type="application/xml"),
        changing("<title>Back soon</title><p nonce='{word}'>Request {number}: /{path} is not here now"),
        changing("<title>Back at 12:{number}</title>{word}<p>Down"),
        *(renewed(every) for every in (1, 2, 3, 4)),
        lambda ask: content(b"<p>Down, says web%d" % (0 if ask.path else 1))(ask),
        lambda ask: (page if ask.path == "login" else redirect("/login"))(ask),
        front(PAGE, content(PAGE + b"<p>More")),  # the same title
    ],
)
def test_page_that_may_hide_a_publication(manner: Manner, into: Path) -> None:
    """A page that the front has, too, may be one of maintenance, a login, or a check for robots."""
    with live(manner) as site:
        why = "as is the front page: the site may be in maintenance, or ask for a login"
        assert failure(site, into) == f"URL/{STATE} is an HTML page, {why}"


@pytest.mark.parametrize(
    ("manners", "why"),
    [
        ({"": status(503)}, "and URL/: the server answered 503 Service Unavailable"),
        ({"": status(404)}, "and URL/: not found (404 Not Found)"),
        (
            {"": content(b"<link rel=resourcesync href=/resourcesync/description.xml>", Content_Type="text/html")},
            "although the front page leads to a publication",
        ),
    ],
)
def test_front_page_that_says_nothing_of_what_is_there(manners: dict[str, Manner], why: str, into: Path) -> None:
    """It cannot be read, or it leads to what another page hides."""
    with live(page) as site:
        site.manners |= manners
        assert failure(site, into) == f"URL/{STATE} is an HTML page, {why}"


def test_source_description_says_which_sets_there_are(new: Source, into: Path) -> None:
    """A page hides what it names; a set that it does not name is new, also if the host has one page for all."""
    with live(page) as site:
        site.manners[DESCRIPTION] = files(new.output)
        why = "although the Source Description lists resourcesync/site"
        assert failure(site, into) == f"URL/{STATE} is an HTML page, {why}"
        other = "resourcesync/papers/publication.json"
        assert fetch_publication(Web(site.url), into, state=other) == NoPublication(f"{site.url}/{other}")


def test_state_under_a_wrong_media_type(site: Live, new: Source, into: Path) -> None:
    """JSON is JSON: a host that knows no media types has not lost the publication."""
    site.manners[STATE] = content((new.output / STATE).read_bytes(), Content_Type="text/html")
    fetched(site, into)
    assert contents(into) == vouched(new)


@pytest.mark.parametrize("code", [401, 403])
def test_host_that_forbids_what_is_missing(code: int, into: Path) -> None:
    """Object stores do: nothing is there if the front page is, and a random name gets the same answer."""
    with live(status(code)) as site:
        site.manners[""] = page
        assert fetch_publication(Web(site.url), into) == NoPublication(f"{site.url}/{STATE}")
        asked = [each.path for each in site.asks]
    assert asked[:2] == [STATE, ""]
    assert re.fullmatch(r"resourcesync/[0-9a-f]{16}\.json", asked[2])


@pytest.mark.parametrize(
    ("front", "other"),
    [
        (status(403), status(403)),
        (status(404), status(403)),
        (page, status(404)),
        (page, page),
        (page, status(401)),
        (content(b"<link rel=resourcesync href=x>", Content_Type="text/html"), status(403)),
    ],
)
def test_host_that_forbids_the_state_alone(front: Manner, other: Manner, into: Path) -> None:
    """Then there may be one: a site with a password, and one that hides the state."""
    with live(other) as site:
        site.manners |= {"": front, STATE: status(403)}
        with pytest.raises(
            PublicationError, match=re.escape(f"{STATE}: the server answered 403 Forbidden{EMPTY}; {ADVICE}")
        ):
            fetch_publication(Web(site.url), into)


def test_nobody_listens(into: Path) -> None:
    """A host that refuses the connection has no publication that this machine can see."""
    found = fetch_publication(Web(f"http://127.0.0.1:{closed_port()}"), into)
    assert isinstance(found, NoPublication)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/resourcesync/publication\.json: Connection refused", str(found))


def test_no_host(monkeypatch: pytest.MonkeyPatch, into: Path) -> None:
    """A name that nobody has yet has no publication; a name server that does not answer says nothing of that."""
    number = socket.EAI_NONAME

    def resolve(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(number, "no answer of name servers")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    web = Web("https://museum.example")
    found = fetch_publication(web, into)
    assert isinstance(found, NoPublication)
    assert str(found) == f"https://museum.example/{STATE}: no such host"
    number = socket.EAI_AGAIN
    with pytest.raises(PublicationError, match="no answer of name servers; nothing was changed: try again"):
        fetch_publication(web, into)


@pytest.mark.promise("Continued")
@pytest.mark.parametrize(
    ("manner", "said"),
    [
        (status(500), "URL/STATE: the server answered 500 Internal Server Error"),
        (status(503), "URL/STATE: the server answered 503 Service Unavailable"),
        (status(403), f"URL/STATE: the server answered 403 Forbidden{EMPTY}"),
        (redirect("https://other.example/"), "URL/STATE redirects elsewhere, to https://other.example/"),
        (
            redirect("/resourcesync/publication.json"),
            "URL/STATE redirects more than 5 times, last to URL/STATE",
        ),
        (truncated(b"{}"), "URL/STATE: the transfer ended early"),
        (chunked(b"{", end=b""), "URL/STATE: the transfer ended early"),
        (endless, "URL/STATE is larger than 100000 bytes"),
    ],
)
@pytest.mark.parametrize("path", [STATE, RESOURCE_LIST])
def test_failures(site: Live, into: Path, manner: Manner, said: str, path: str) -> None:
    """Whatever fails, of the state or of a document, says at once where and why, and never that nothing is there."""
    site.manners[path] = manner
    time = Time()
    bounds = Bounds(size=100_000)
    said = said.replace("to URL/STATE", f"to URL/{STATE}").replace("URL/STATE", f"URL/{path}")
    if path == RESOURCE_LIST and "last to" in said:
        said = said.replace(f"last to URL/{path}", f"last to URL/{STATE}")
        site.manners[path] = redirect("/x")
        site.manners["x"] = redirect("/x")
        said = said.replace(f"last to URL/{STATE}", "last to URL/x")
    assert failure(site, into, bounds=bounds, clock=time.clock) == said
    assert time.slept == []


@pytest.mark.promise("Continued")
@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("gzip", bytes), ("exi", gzip.compress)])
def test_host_that_encodes_everything(
    site: Live, new: Source, into: Path, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    """The hashes say which bytes are meant; what nobody can decode, the host has to change, and no restart helps."""
    sent = {path: pack((new.output / path).read_bytes()) for path in vouched(new)}
    sent[STATE] = gzip.compress((new.output / STATE).read_bytes())
    site.manner = lambda ask: content(sent[ask.path], Content_Encoding=encoding)(ask)
    if encoding == "gzip":
        fetched(site, into)
        assert contents(into) == vouched(new)
    else:
        with pytest.raises(
            PublicationError, match=r"as 'exi', which .* nothing was changed: let the host send .*`previous`"
        ):
            fetch_publication(Web(site.url), into)


@pytest.mark.promise("Continued")
@pytest.mark.parametrize(
    ("manner", "said"),
    [
        (late(20, page), "no answer for 1.5 seconds"),
        (dripping(b"{}", 0.1), "the transfer takes longer than 2.5 seconds"),
    ],
)
def test_slow(site: Live, into: Path, manner: Manner, said: str) -> None:
    """A host that is too slow is a failure, and the document that took too long is named.

    The times allowed are far above what the documents before it take on a busy machine.
    """
    site.manners[RESOURCE_LIST] = manner
    assert failure(site, into, bounds=Bounds(timeout=1.5, total=2.5)) == f"URL/{RESOURCE_LIST}: {said}"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is damaged (Expecting value"),
        (b"{", "is damaged (Expecting property name"),
        (b"[]", "is damaged (list indices"),
        (b'{"format": 1}', "is damaged ("),
        (b'{"format": 99}', "has the format 99, which this version cannot read: update pelican-resourcesync"),
        (b"Service is starting", "is damaged (Expecting value"),
    ],
)
def test_damaged_state(site: Live, into: Path, data: bytes, said: str) -> None:
    """A state that cannot be read, or one of a newer tool, is something, not nothing."""
    site.manners[STATE] = content(data, Content_Type="application/json")
    assert failure(site, into).startswith(f"URL/{STATE} {said}")


def test_known_documents_are_not_fetched_again(site: Live, old: Source, new: Source, into: Path) -> None:
    """What a copy from earlier has, byte for byte, is taken from there; only the rest is asked for."""
    known = old.output
    lacking = {path for path, data in vouched(new).items() if contents(known).get(path) != data}
    found = fetched(site, into, known)
    assert contents(into) == vouched(new)
    assert site.asked() == Counter(lacking)
    assert lacking >= {RESOURCE_LIST, INDEX, OPEN_LIST, STATE}
    assert found.received == len(lacking) - 1


def test_known_copy_that_is_damaged(site: Live, new: Source, source: Source, into: Path) -> None:
    """What an earlier copy has otherwise, or not at all, is fetched."""
    (source.output / RESOURCE_LIST).write_bytes(b"something else")
    (source.output / CAPABILITY_LIST).unlink()
    (source.output / INDEX).unlink()
    (source.output / INDEX).mkdir()
    fetched(site, into, source.output)
    assert contents(into) == vouched(new)
    assert site.asked() == {STATE: 1, RESOURCE_LIST: 1, CAPABILITY_LIST: 1, INDEX: 1}


@pytest.mark.promise("Continued")
def test_half_deployed(old: Source, new: Source, into: Path) -> None:
    """New state, old documents at first: all is asked again from the state on, and what was right only once."""
    time = Time()
    with live(first(1, files(old.output), then=files(new.output))) as site:
        site.manners[STATE] = files(new.output)
        found = fetched(site, into, clock=time.clock)
        asked = site.asked()
    assert contents(into) == vouched(new)
    assert (time.slept[0], asked[STATE], found.received) == (1, len(time.slept) + 1, 10)
    assert asked[RESOURCE_LIST] == asked[INDEX] == 2
    assert max(asked[path] for path in contents(into) if path != STATE) == 2


def test_known_while_it_is_asked_again(site: Live, old: Source, new: Source, source: Source, into: Path) -> None:
    """What an earlier copy had stands, however often all is asked again."""
    (source.output / RESOURCE_LIST).unlink()
    site.manners[RESOURCE_LIST] = first(1, files(old.output), then=files(new.output))
    time = Time()
    assert fetched(site, into, source.output, clock=time.clock).received == 1
    assert contents(into) == vouched(new)
    assert (time.slept, site.asked()) == ([1], {STATE: 2, RESOURCE_LIST: 2})


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        (content(b"damaged"), f"URL/{RESOURCE_LIST} is not the listed file. {HALF}"),
        (content(PAGE, Content_Type="text/html"), f"URL/{RESOURCE_LIST} is an HTML page. {HALF}"),
        (status(404), f"URL/{RESOURCE_LIST}: not found (404 Not Found). {HALF}"),
    ],
)
def test_damaged_for_ever(site: Live, into: Path, manner: Manner, said: str) -> None:
    """After a minute, the document is named; the others were asked for once, and no second was really waited."""
    site.manners[RESOURCE_LIST] = manner
    time = Time()
    assert failure(site, into, clock=time.clock) == said
    assert time.slept == [1, 2, 4, 8, 16, 29]
    asked = site.asked()
    assert (asked[STATE], asked[RESOURCE_LIST], asked[INDEX]) == (7, 7, 1)


def test_state_that_goes_while_it_is_read(site: Live, new: Source, into: Path) -> None:
    """What was there a moment ago is not taken for a site without a publication."""
    site.manners[RESOURCE_LIST] = status(404)
    for manner in (status(404), page):
        site.manners[STATE] = first(1, files(new.output), then=manner)
        time = Time()
        assert failure(site, into, clock=time.clock) == f"URL/{STATE} disappeared during the download. {HALF}"
        assert sum(time.slept) == 60
        site.asked()


def test_state_that_comes_back(site: Live, new: Source, into: Path) -> None:
    """A deployment that takes everything away before it puts it back is waited for."""
    there = files(new.output)
    site.manners[STATE] = lambda ask: (status(404) if ask.before == 1 else there)(ask)
    site.manners[RESOURCE_LIST] = first(1, status(404), then=there)
    time = Time()
    fetched(site, into, clock=time.clock)
    assert contents(into) == vouched(new)
    assert time.slept == [1, 2]


def altered(source: Source, **content: Any) -> None:
    """Let the state say something else; dictionaries gain what is given."""
    state = source.state()
    for key, value in content.items():
        state[key] = state[key] | value if isinstance(value, dict) else value
    (source.output / STATE).write_text(json.dumps(state))


@pytest.mark.parametrize("manner", [status(404), page, content(b"another")])
def test_superseded_and_missing(source: Source, into: Path, manner: Manner) -> None:
    """One of those that is missing is no damage, and nobody waits for it."""
    altered(source, superseded={GONE: sha256(b"<urlset/>").hexdigest()})
    with live(files(source.output)) as site:
        site.manners[GONE] = manner
        time = Time()
        fetched(site, into, clock=time.clock)
    assert (contents(into), time.slept) == (vouched(source), [])


def test_same_bytes_under_two_paths(source: Source, into: Path) -> None:
    """Documents of the same bytes are fetched once, from where one is sure to be."""
    data = (source.output / RESOURCE_LIST).read_bytes()
    digest = sha256(data).hexdigest()
    altered(source, superseded={GONE: digest})
    with live(files(source.output)) as site:
        fetched(site, into)
        assert site.asked()[RESOURCE_LIST] == 1
    assert (into / GONE).read_bytes() == data


@pytest.mark.parametrize("path", ["../x", "resourcesync/site/../../x", "resourcesync/site/x\\y", STATE])
def test_hostile_paths(source: Source, into: Path, path: str) -> None:
    """Nothing is written or asked for but documents: whoever has the site has not the machine that builds it."""
    altered(source, documents={path: "0" * 64})
    with live(files(source.output)) as site:
        assert f"{path!a} is listed, but is not a document of a publication" in failure(site, into)
        assert site.asked() == {STATE: 1}


def test_hostile_versions(source: Source, into: Path) -> None:
    """No version is asked for, or written, whose name is not that of one."""
    source.publish({"a.html": b"1"}, "2024-05-01T12:00", versions=VersionOptions())
    index = source.output / "resourcesync/site/versions.jsonl"
    index.write_text(re.sub(r"[0-9a-f]{64}\.html", "../../../x", index.read_text()))
    source.reseal()
    with live(files(source.output)) as site:
        why = "versions.jsonl is damaged in line 2: it does not list the versions of a resource"
        assert failure(site, into) == f"resourcesync/site/{why}"
        assert not [path for path in site.asked() if path.endswith("x")]


def test_limits(site: Live, new: Source, into: Path) -> None:
    """A number of documents, the state, each document and all of them have limits; at a limit, all is well."""
    sizes = {path: len(data) for path, data in vouched(new).items()}
    state, largest = sizes.pop(STATE), max(sizes.values())
    assert (
        failure(site, into, allowance=FetchLimits(documents=5)) == f"URL/{STATE} lists 10 documents, but the limit is 5"
    )
    said = f"URL/{STATE} is larger than {state - 1} bytes"
    assert failure(site, into, allowance=FetchLimits(state_size=state - 1)) == said
    assert site.asked() == {STATE: 2}
    said = failure(site, into, allowance=FetchLimits(size=largest - 1))
    assert re.fullmatch(rf"URL/resourcesync/site/\S+ is larger than {largest - 1} bytes", said)
    said = f"all documents have more than {state:,} bytes"
    assert failure(site, into, allowance=FetchLimits(total_size=state)) == said
    assert "is larger than 9 bytes" in failure(site, into, allowance=FetchLimits(total_size=state + 9))
    total = 6 * sum([state, *sizes.values()])
    fetched(site, into, allowance=FetchLimits(documents=10, state_size=state, size=largest, total_size=total))


def test_time_of_all(site: Live, into: Path) -> None:
    """Waiting for a deployment counts, and the whole has a limit that patience does not reach over."""
    site.manners[RESOURCE_LIST] = status(404)
    time = Time()
    said = failure(site, into, allowance=FetchLimits(seconds=5), clock=time.clock)
    assert said == "fetching all documents takes longer than 5 seconds"
    assert time.slept == [1, 2, 4]


def test_time_of_all_is_that_of_each(site: Live, into: Path) -> None:
    """One file that drips cannot take longer than all may."""
    site.manners[STATE] = dripping(b"{}" * 50, 0.05)
    said = failure(site, into, allowance=FetchLimits(seconds=0.4))
    assert re.fullmatch(rf"URL/{STATE}: the transfer takes longer than 0\.\d+ seconds", said)


def test_many_documents(source: Source, into: Path) -> None:
    """Years of Change Lists come over several connections."""
    more = {f"resourcesync/site/changelist-1999{number:04}T000000Z.xml": b"%d" % number for number in range(200)}
    for path, data in more.items():
        source.write(path, data)
    altered(source, documents={path: sha256(data).hexdigest() for path, data in more.items()})
    with live(files(source.output)) as site:
        assert fetched(site, into).received == 210
    assert contents(into) == vouched(source)

"""What becomes of a publication that is found in a folder, on the web or in a bucket, whole or not: one table."""

import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from pelican_resourcesync.delivery.announce import PublishedSite
from pelican_resourcesync.delivery.upload import upload
from pelican_resourcesync.errors import (
    DocumentError,
    NoHostError,
    PermanentError,
    PublicationError,
    ResourceSyncError,
    SettingsError,
    StatusError,
    TransportError,
)
from pelican_resourcesync.http import Bucket
from pelican_resourcesync.publication import Layout, PredecessorSearch, local_status, remote_status
from pelican_resourcesync.publication.previous import search
from tests.kit.bucket import BucketServer, bucket_server
from tests.kit.live import Live, Manner, files, front, hosts, live, page, redirect, status
from tests.kit.museum import ARCHIVE, KEPT, MUSEUM, STATE, Tree, digest, is_now, tree
from tests.kit.publications import Source

RESOURCE_LIST, LEASE = "resourcesync/site/resourcelist.xml", "resourcesync/upload.json"

# In each table a row is what is there, a column is who reads it, and a cell is the generation that is continued or read
# (- for none: it is the first), with what is said about it, if anything; or ! and why it is refused. A dot is what
# cannot be. The generations 1, 2 and 3 follow each other; 4 follows 1 and not 2; 5 has another address; 6 is a preview.

# By the setting `previous`: the output or a folder; the copy last seen live, while nothing is live, or generation 2 is;
# the output while nothing is live, also by a URL; the output while the host cannot be found, also where generation 2
# was seen live, and in CI. And by two commands.
FOLDERS = """
            output    folder    saved     saved-2 not-live URL-built offline   offline-2 offline-CI show      announce
missing     -         !folder   -:first   2       -:first  -:first   -:first   !unknown  !unknown   -         !none
empty       -         !setting  -:first   2       -:first  -:first   -:first   !unknown  !unknown   -         !none
older       1         1         1:copy    2       -:yet    -:yet     1:output  !unknown  !unknown   1         1
same        2         2         2:copy    2       -:yet    -:yet     2:output  2:output  !unknown   2         2
newer       3         3         3:copy    3:back  -:yet    -:yet     3:output  3:output  !unknown   3         3
forked      4         4         4:copy    !forked -:yet    -:yet     4:output  !unknown  !unknown   4         4
other       !moved    !moved    !moved    !forked -:first  -:first   -:first   !unknown  !unknown   5         5
preview     -         !setting  .         .       -:first  -:first   -:first   !unknown  !unknown   6         6
document    !document !document !document 2       -:yet    -:yet     !document !document !unknown   !document 2
no-document !document !document !document 2       -:yet    -:yet     !document !document !unknown   !document 2
state       !state    !state    !state    2:anew  -:first  -:first   !state    !state    !unknown   !state    !state
page-for-it !state    !state    !state    2:anew  -:first  -:first   !state    !state    !unknown   !state    !none
no-state    !no-state !no-state -:first   2       -:first  -:first   -:first   !unknown  !unknown   -         !none
format      !format   !format   !format   2:anew  -:first  -:first   !format   !format   !unknown   !format   !format
half        !document !document !document 2       -:yet    -:yet     !document !document !unknown   !document 2
"""

# By the setting `previous`: the live site, also where generation 2 was seen live; the former address of a site that has
# moved, while nothing is live at the new one, also where generation 2 was seen live; the new one, while nothing is live
# at the former; and a URL, also where generation 2 was seen live, or is live at the address. And by two commands.
WEB = """
            live      live-2    moved     moved-2   renamed   URL       URL-2     URL-live  show-URL     announce-URL
missing     -:first   !unknown  !unknown  2:copy    -:first   !setting  !setting  !setting  !NoHostError !none
empty       -:first   2:copy    -:first   2:copy    -:first   -:first   !setting  !setting  -            !none
older       1         2:back    1         2:back    1         1         1         1         1            1
same        2         2         2         2         2         2         2         2         2            2
newer       3         3         3         3         3         3         3         3         3            3
forked      4         !forked   4         !forked   4         4         4         4         4            4
other       !moved    !forked   5         !forked   5         !moved    !moved    !moved    5            !belongs
preview     -:preview 2:preview -:preview 2:preview -:preview -:first   !setting  !setting  6            !belongs
document    !half     2         !half     2         !half     !half     2         !half     !half        2
no-document !half     2         !half     2         !half     !half     2         !half     !half        2
state       !state    !state    !state    !state    !state    !state    !state    !state    !state       !state
page-for-it !hidden   !hidden   !hidden   !hidden   !hidden   !hidden   !hidden   !hidden   !Transport   !none
no-state    !named    2:copy    -:first   2:copy    !named    !setting  !setting  !setting  -            !none
format      !format   !format   !format   !format   !format   !format   !format   !format   !format      !format
half        !half     2         !half     2         !half     !half     2         !half     !half        2
404         -:first   2:copy    -:first   2:copy    -:first   -:first   !setting  !setting  -            !none
410         -:first   2:copy    -:first   2:copy    -:first   -:first   !setting  !setting  -            !none
403         !answer   !answer   !answer   !answer   !answer   !answer   !answer   !answer   !Transport   !StatusError
403-absent  -:first   2:copy    -:first   2:copy    -:first   -:first   !setting  !setting  -            !StatusError
500         !answer   !answer   !answer   !answer   !answer   !answer   !answer   !answer   !Transport   !StatusError
page        !page     !page     !page     !page     !page     !page     !page     !page     !Transport   !DocumentError
page-absent -:first   2:copy    -:first   2:copy    -:first   -:first   !setting  !setting  -            !DocumentError
redirect    !redirect !redirect !redirect !redirect !redirect !redirect !redirect !redirect !Transport   !PermanentError
"""

# Starting over from the live site; and, while nothing is live, from where `previous` leads or what was last seen live.
OVER = """
              over       over-saved over-output over-folder over-URL
missing       0:over     0:over     0:over      0:over      0:over
empty         0:over     0:over     0:over      0:over      0:over
older         1:over     1:over     1:over      1:over      1:over
same          2:over     2:over     2:over      2:over      2:over
newer         3:over     3:over     3:over      3:over      3:over
forked        4:over     4:over     4:over      4:over      4:over
other         5:over     5:over     5:over      5:over      5:over
preview       6:over     .          6:over      6:over      6:over
document      2:over     2:over     2:over      2:over      2:over
no-document   2:over     2:over     2:over      2:over      2:over
state         0:over     0:over     0:over      0:over      0:over
page-for-it   0:over     0:over     0:over      0:over      0:over
no-state      0:over     0:over     0:over      0:over      0:over
format        0:over     0:over     0:over      0:over      0:over
half          2:over     2:over     2:over      2:over      2:over
403           0:over     .          .           .           0:over
500           0:over     .          .           .           0:over
page          0:over     .          .           .           0:over
"""

# By the setting `previous`, and by an upload of generation 2.
BUCKETS = """
              bucket     upload
missing       !bucket    !Transport
empty         -:first    2
older         1          2
same          2          2
newer         3          !behind
forked        4          !behind
other         !moved     !behind
preview       -:first    !behind
document      !half      2
no-document   !half      2
state         !state     !state
page-for-it   !hidden    !state
no-state      -:first    2
format        !format    !format
half          !half      2
403           !bucket    !Transport
"""

SAID = {
    "": "$",
    "first": "this is the first publication",
    "yet": "not live yet$",
    "copy": "there is no publication at .*: the saved copy of the live publication is continued$",
    "back": r"the live site was set back to generation \d: generation \d, which was live before, is continued",
    "anew": "the saved copy of the live publication cannot be read .*, so it is replaced",
    "output": "not live now, so the publication in the output is continued$",
    "preview": "the live publication is for http://localhost:8000, an address of this machine: ",
    "over": r"the publication starts over in resourcesync/site/20\d{12}/: unset RESOURCESYNC_FIRST once it is public",
}
REFUSED: dict[str, tuple[type[ResourceSyncError], str]] = {
    "document": (PublicationError, r"the publication in .* is damaged \(.*list\.xml does not match"),
    "half": (PublicationError, r"cannot be read: .*\. It is damaged, or still being deployed"),
    "state": (PublicationError, r"publication\.json is damaged"),
    "no-state": (PublicationError, r"publication\.json is missing, although .*/capabilitylist\.xml exists"),
    "named": (PublicationError, "there is no publication at .*, although the Source Description lists"),
    "format": (PublicationError, "has the format 9, which this version cannot read"),
    "moved": (PublicationError, f"the previous publication is for {ARCHIVE}, but this one would be for {MUSEUM}"),
    "forked": (PublicationError, "do not descend from each other, so each has changes that the other lacks"),
    "unknown": (PublicationError, "it cannot be determined what is published: .*: no such host"),
    "answer": (PublicationError, r"cannot be read: .*publication\.json: the server answered "),
    "hidden": (PublicationError, r"publication\.json is an HTML page, although the Source Description lists"),
    "page": (PublicationError, r"publication\.json is an HTML page, as is the front page"),
    "redirect": (PublicationError, r"cannot be read: .*publication\.json.*redirects elsewhere"),
    "folder": (PublicationError, "there is no folder .*/place: correct the setting"),
    "setting": (PublicationError, "correct the setting `previous`"),
    "bucket": (PublicationError, "cannot be read: s3://.*: The (specified bucket does not exist|operation lacked)"),
    "behind": (PublicationError, "which generation 2 in .* does not continue: nothing was uploaded"),
    "none": (PublicationError, "no publication was found in .*: publish the site first"),
    "belongs": (SettingsError, f"the publication at {MUSEUM} belongs to "),
    "DocumentError": (DocumentError, "a DOCTYPE is refused"),
    "NoHostError": (NoHostError, "no such host"),
    "PermanentError": (PermanentError, "redirects elsewhere"),
    "StatusError": (StatusError, "the server answered (403|500)"),
    "Transport": (TransportError, "answered (403|500)|HTML page|redirects elsewhere|bucket does not exist|lacked"),
}
GENERATIONS = {"older": 1, "same": 2, "newer": 3, "forked": 4, "other": 5, "preview": 6}
ANSWERS: dict[str, Manner] = {
    **{code: status(int(code)) for code in ("404", "410", "403", "500")},
    "403-absent": front(b"<title>Museum</title>", status(403)),
    "page": page,
    "page-absent": front(b"<title>Museum</title><p>Welcome", page),
    "redirect": redirect("http://elsewhere.test/"),
}


@dataclass
class Scene:
    """A site in a folder, what may be published (`made`), and a `place` in which some of it is, with its hosts."""

    folder: Path
    made: Path
    host: Live
    server: BucketServer
    place: Path = Path()

    @property
    def base(self) -> Path:
        """The folder of the settings."""
        return self.folder / "site"

    def put(self, name: str, where: str) -> Path:
        """Copy what may be published to a folder, if it has that name, and return the folder."""
        if (self.made / name).is_dir():
            shutil.copytree(self.made / name, self.folder / where)
        return self.folder / where

    def prepare(self, reader: "Reader", name: str, *, offline: bool) -> str:
        """Put something into the place of a reader, and what is known to where that is; return the hosts that are not.

        Hosts whose publication is that in the place answer as the name says, or are not there if the place is missing.
        """
        self.place = self.put("same" if name in ANSWERS else name, reader.place)
        for where, known in reader.known.items():
            self.put(known, where)
        (self.folder / "site").mkdir(exist_ok=True)
        if reader.place == "bucket":
            self.server.fault = lambda *_: 403 if name == "403" else 0
            for path, (data, _) in tree(self.place).items():
                self.server.put(path, data)
        public = {MUSEUM: reader.public, ARCHIVE: reader.former}
        asked = {site for site, where in public.items() if where == reader.place}
        answers = {site: files(self.folder / where) for site, where in public.items()}
        self.host.manner = hosts(answers | {site: ANSWERS[name] for site in asked if name in ANSWERS})
        lost = public if offline else asked if name == "missing" else ()
        return ",".join(["127.0.0.1", *(site.removeprefix("http://") for site in lost)])

    def published(self) -> list[Tree | dict[str, bytes]]:
        """Return all that is published: in folders, and in the bucket without the lease of an upload."""
        objects = {path: data for path, data in self.server.contents().items() if path != LEASE}
        return [tree(self.folder / "place"), tree(self.base / "output"), objects]

    def find(self, previous: str, moved_from: str = "") -> str:
        """Return the generation that would be continued, or started over from, and what is said about it."""
        output = self.base / "output"
        search = PredecessorSearch(Layout(MUSEUM), output, self.base, previous=previous, moved_from=moved_from)
        with closing(search):
            found = search.find()
        generation = found.known and found.known.generation
        assert not found.restarted_from or is_now(found.layout(Layout(MUSEUM)).restart_number)
        if previous == "live" and found.restarted_from is None and "the output is continued" not in found.line:
            assert self.saved() == generation
        return f"{'-' if generation is None else generation}:{found.line}"

    def saved(self) -> int | None:
        """Return the generation that is saved as last seen live, if its state and its Resource List are whole."""
        with suppress(OSError, ValueError, KeyError):
            state = json.loads((self.base / KEPT / STATE).read_bytes())
            if digest(self.base / KEPT / RESOURCE_LIST) == state["documents"][RESOURCE_LIST]:
                return int(state["generation"])
        return None

    def bucket(self) -> str:
        """Return the URL of the bucket, or of none where the place does not exist."""
        return self.server.bucket if self.place.exists() else "s3://absent/site"

    def upload(self) -> str:
        """Return the generation that is in the bucket after the output was uploaded."""
        upload(self.base / "output", Bucket(self.bucket()))
        return f"{json.loads(self.server.contents()[STATE])['generation']}:"

    def show(self, url: str = "") -> str:
        """Return the generation that is shown, of the place or at a URL."""
        shown = remote_status(url, self.folder / "fetched") if url else local_status(self.place)
        return f"{shown.sets[0].generation if shown else '-'}:"

    def announce(self, target: str) -> str:
        """Return the generation that would be announced."""
        return f"{PublishedSite(target).sets['site'].generation}:"


class Reader(NamedTuple):
    """The place that a reader reads, and what it does; folders that are public at both addresses; and what is known."""

    place: str
    read: Callable[[Scene], str]
    public: str = "place"
    former: str = "place"
    known: Mapping[str, str] = MappingProxyType({})


SEEN = {f"site/{KEPT}": "same"}
READERS = {
    "output": Reader("site/output", lambda scene: scene.find("output")),
    "folder": Reader("place", lambda scene: scene.find("../place")),
    "saved": Reader(f"site/{KEPT}", lambda scene: scene.find("live")),
    "saved-2": Reader(f"site/{KEPT}", lambda scene: scene.find("live"), public="www", known={"www": "same"}),
    "not-live": Reader("site/output", lambda scene: scene.find("live")),
    "URL-built": Reader("site/output", lambda scene: scene.find(ARCHIVE)),
    "offline": Reader("site/output", lambda scene: scene.find("live")),
    "offline-2": Reader("site/output", lambda scene: scene.find("live"), known=SEEN),
    "offline-CI": Reader("site/output", lambda scene: scene.find("live")),
    "show": Reader("place", Scene.show),
    "announce": Reader("place", lambda scene: scene.announce(str(scene.place))),
    "live": Reader("place", lambda scene: scene.find("live")),
    "live-2": Reader("place", lambda scene: scene.find("live"), known=SEEN),
    "moved": Reader("place", lambda scene: scene.find("live", moved_from=ARCHIVE), public="nothing"),
    "moved-2": Reader("place", lambda scene: scene.find("live", moved_from=ARCHIVE), public="nothing", known=SEEN),
    "renamed": Reader("place", lambda scene: scene.find("live", moved_from=ARCHIVE), former="nothing"),
    "URL": Reader("place", lambda scene: scene.find(ARCHIVE)),
    "URL-2": Reader("place", lambda scene: scene.find(ARCHIVE), known=SEEN),
    "URL-live": Reader("place", lambda scene: scene.find(ARCHIVE), public="www", known={"www": "same"}),
    "show-URL": Reader("place", lambda scene: scene.show(MUSEUM)),
    "announce-URL": Reader("place", lambda scene: scene.announce(MUSEUM)),
    "over": Reader("place", lambda scene: scene.find("none")),
    "over-saved": Reader(f"site/{KEPT}", lambda scene: scene.find("live")),
    "over-output": Reader("site/output", lambda scene: scene.find("output")),
    "over-folder": Reader("place", lambda scene: scene.find("../place"), public="nothing"),
    "over-URL": Reader("place", lambda scene: scene.find(ARCHIVE), public="nothing"),
    "bucket": Reader("bucket", lambda scene: scene.find(scene.bucket())),
    "upload": Reader("bucket", Scene.upload, known={"site/output": "same"}),
}


def cells(table: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of the reader, that of what is there, and the expected result, of each cell of a table."""
    head, *rows = (line.split() for line in table.strip().splitlines())
    for name, *results in rows:
        yield from ((reader, name, result) for reader, result in zip(head, results, strict=True) if result != ".")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that may be in a place, by name; no test alters it."""
    made = tmp_path_factory.mktemp("made")
    (made / "empty").mkdir()
    for name, after, month in (
        ("older", "", 1), ("same", "older", 2), ("newer", "same", 3), ("forked", "older", 4), ("other", "", 1),
        ("preview", "", 1),
    ):  # fmt: skip
        if after:
            shutil.copytree(made / after, made / name)
        siteurl = {"other": ARCHIVE, "preview": "http://localhost:8000"}.get(name, MUSEUM)
        Source(made / name, siteurl=siteurl).publish({"a.html": name.encode()}, f"2024-{month:02}-05T12:00")
        state = json.loads((made / name / STATE).read_bytes())
        (made / name / STATE).write_text(json.dumps({**state, "generation": GENERATIONS[name]}))
    for name, path, data in (
        ("document", RESOURCE_LIST, b"<urlset/>"), ("no-document", RESOURCE_LIST, None),
        ("state", STATE, b"{"), ("page-for-it", STATE, b"<!DOCTYPE html>"), ("no-state", STATE, None),
        ("format", STATE, b'{"format": 9}'),
    ):  # fmt: skip
        shutil.copytree(made / "same", made / name)
        (made / name / path).unlink() if data is None else (made / name / path).write_bytes(data)
    shutil.copytree(made / "older", made / "half")
    shutil.copy(made / "same" / STATE, made / "half" / STATE)
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[BucketServer]:
    """Serve a bucket."""
    with pytest.MonkeyPatch.context() as patch, bucket_server(patch) as server:
        yield server


@pytest.fixture(scope="module")
def host() -> Iterator[Live]:
    """Let sites be live, which are asked for through a proxy."""
    with live(status(404), proxy=True) as host:
        yield host


def resolve(host: str, *args: Any, ask: Callable[..., Any] = socket.getaddrinfo, **options: Any) -> Any:
    """Answer as a name server that does not know the names of this test."""
    if host.endswith(".test"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return ask(host, *args, **options)


@pytest.fixture
def scene(tmp_path: Path, made: Path, host: Live, server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Return an empty scene, in which nobody waits for a deployment."""
    server.restore({})
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setenv("http_proxy", host.url)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(search, "ALLOWANCE", search.ALLOWANCE._replace(patience=0.0))
    return Scene(tmp_path, made, host, server)


@pytest.mark.promise("Continued")
@pytest.mark.parametrize(
    ("reader", "name", "expected"), [cell for table in (FOLDERS, WEB, OVER, BUCKETS) for cell in cells(table)]
)
def test_places(reader: str, name: str, expected: str, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is continued, or not, or refused by a message that says why; then nothing is altered anywhere."""
    read, is_refused = READERS[reader].read, expected.startswith("!")
    monkeypatch.setenv("no_proxy", scene.prepare(READERS[reader], name, offline=reader.startswith("offline")))
    if reader.endswith("-CI"):
        monkeypatch.setenv("CI", "true")
    if reader.startswith("over-"):
        monkeypatch.setenv("RESOURCESYNC_FIRST", "1")
    before, saved = scene.published(), scene.saved()
    if is_refused:
        error, message = REFUSED[expected[1:]]
        with pytest.raises(ResourceSyncError, match=message) as caught:
            read(scene)
        assert type(caught.value) is error
    else:
        generation, _, said = expected.partition(":")
        assert re.match(f"{generation}:.*{SAID[said]}" if said else f"{generation}:$", read(scene))
    assert scene.published() == before or (reader == "upload" and not is_refused)
    assert scene.saved() == saved or reader in {"saved-2", "live", "live-2", "moved", "moved-2", "renamed"}
    assert not (is_refused and saved) or scene.saved() == saved


def test_nothing_at_a_url_while_the_host_of_the_site_is_lost(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """In CI, where nothing is known of what was published, it stops, as with `live`; a former address always counts."""
    scene.host.manner = hosts({ARCHIVE: status(404), MUSEUM: status(404)})
    monkeypatch.setenv("no_proxy", "127.0.0.1,museum.test")
    assert re.match(f"-:.*{SAID['first']}", scene.find(ARCHIVE))
    for lost, moved_from, variable in (("former", "http://former.test", "NONE"), ("museum", "", "CI")):
        monkeypatch.setenv("no_proxy", f"127.0.0.1,{lost}.test")
        monkeypatch.setenv(variable, "true")
        with pytest.raises(PublicationError, match=REFUSED["unknown"][1]):
            scene.find(ARCHIVE, moved_from)

"""What becomes of a publication that is found in a folder, on the web or in a bucket, whole or not: one table."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

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
from pelican_resourcesync.publication import Layout, PlainOutput, PredecessorSearch, local_status, remote_status
from pelican_resourcesync.publication.previous import search
from tests.publication.support import Source
from tests.support.bucket import BucketServer, bucket_server
from tests.support.live import Live, Manner, files, front, hosts, live, page, redirect, status
from tests.support.museum import ARCHIVE, KEPT, MUSEUM, STATE, Tree, tree

RESOURCE_LIST, LEASE = "resourcesync/site/resourcelist.xml", "resourcesync/upload.json"

# In each table a row is what is there, a column is who reads it, and a cell is the generation that is continued or read
# (- for none: it is the first), with what is said about it, if anything; or ! and why it is refused. A dot is what
# cannot be. The generations 1, 2 and 3 follow each other; 4 follows 1 and not 2; 5 has another address; 6 is a preview.

# By the setting `previous`: the output or a folder; the copy last seen live, or the output, while nothing is live; the
# output while the host cannot be found, and the same where generation 2 was seen live. And by two commands.
FOLDERS = """
              output     folder     saved     not-live  offline   offline-2  show       announce
missing       -          !folder    -:first   -:first   -:first   !unknown   -          !none
empty         -          -:first    -:first   -:first   -:first   !unknown   -          !none
older         1          1          1:copy    -:yet     1:output  !unknown   1          1
same          2          2          2:copy    -:yet     2:output  2:output   2          2
newer         3          3          3:copy    -:yet     3:output  3:output   3          3
forked        4          4          4:copy    -:yet     4:output  !unknown   4          4
other         !moved     !moved     !moved    -:first   -:first   !unknown   5          5
preview       -          -:first    .         -:first   -:first   !unknown   6          6
document      !document  !document  !document -:yet     !document !document  !document  2
no-document   !document  !document  !document -:yet     !document !document  !document  2
state         !state     !state     !state    -:first   !state    !state     !state     !state
no-state      !no-state  !no-state  -:first   -:first   -:first   !unknown   -          !none
format        !format    !format    !format   -:first   !format   !format    !format    !format
half          !document  !document  !document -:yet     !document !document  !document  2
"""

# By the setting `previous`: the live site, and the same where generation 2 was seen live; a former address, while
# nothing is live at the new one; a URL; and starting over. And by two commands.
WEB = """
              live       live-2     moved      URL        over       show-URL        announce-URL
missing       -:first    !unknown   !unknown   !setting   0:over     !NoHostError    !none
empty         -:first    2:copy     -:first    !setting   0:over     -               !none
older         1          2:back     1          1          1:over     1               1
same          2          2          2          2          2:over     2               2
newer         3          3          3          3          3:over     3               3
forked        4          !forked    4          4          4:over     4               4
other         !moved     !forked    5          !moved     5:over     5               !belongs
preview       -:preview  2:preview  -:preview  -:first    6:over     6               !belongs
document      !half      2          !half      !half      2:over     !half           2
no-document   !half      2          !half      !half      2:over     !half           2
state         !state     !state     !state     !state     0:over     !state          !state
no-state      !named     2:copy     -:first    !setting   0:over     -               !none
format        !format    !format    !format    !format    0:over     !format         !format
half          !half      2          !half      !half      2:over     !half           2
404           -:first    2:copy     -:first    !setting   0:over     -               !none
410           -:first    2:copy     -:first    !setting   0:over     -               !none
403           !answer    !answer    !answer    !answer    0:over     !TransportError !StatusError
403-absent    -:first    2:copy     -:first    !setting   0:over     -               !StatusError
500           !answer    !answer    !answer    !answer    0:over     !TransportError !StatusError
page          !page      !page      !page      !page      0:over     !TransportError !DocumentError
page-absent   -:first    2:copy     -:first    !setting   0:over     -               !DocumentError
redirect      !redirect  !redirect  !redirect  !redirect  0:over     !TransportError !PermanentError
"""

# By the setting `previous`, and by an upload of generation 2.
BUCKETS = """
              bucket     upload
missing       !bucket    !TransportError
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
no-state      -:first    2
format        !format    !format
half          !half      2
403           !bucket    !TransportError
"""

SAID = {
    "": "$",
    "first": "this is the first publication",
    "yet": "not live yet$",
    "copy": "there is no publication at .*: the copy last seen live is continued$",
    "back": "the live site is back at generation 1: generation 2, last seen live, is continued",
    "output": "not live now, so the publication in the output is continued$",
    "preview": "the live publication is for http://localhost:8000, which is this machine: ",
    "over": r"the publication starts over in resourcesync/site/20\d{12}/: do not set RESOURCESYNC_FIRST again",
}
REFUSED: dict[str, tuple[type[ResourceSyncError], str]] = {
    "document": (PublicationError, r"the publication in .* is damaged: .*list\.xml does not match"),
    "half": (PublicationError, "cannot be read: .*: the publication is damaged, or its deployment is not done"),
    "state": (PublicationError, r"publication\.json is damaged"),
    "no-state": (PublicationError, r"publication\.json is missing, and .*/capabilitylist\.xml is there"),
    "named": (PublicationError, "there is no publication at .*, although the Source Description names"),
    "format": (PublicationError, "has the format 9, which this version cannot read"),
    "moved": (PublicationError, f"the previous publication is for {ARCHIVE}, this one would be for {MUSEUM}"),
    "forked": (PublicationError, "do not descend from each other, so each has changes that the other lacks"),
    "unknown": (PublicationError, "it cannot be determined what is published: .*: no such host"),
    "answer": (PublicationError, r"cannot be read: .*publication\.json: the server answered "),
    "page": (PublicationError, r"publication\.json is an HTML page, as is the front page"),
    "redirect": (PublicationError, r"cannot be read: .*publication\.json.*redirects elsewhere"),
    "folder": (PublicationError, "there is no folder .*/place: correct it"),
    "setting": (PublicationError, "correct the setting `previous`"),
    "bucket": (PublicationError, "cannot be read: s3://.*: The (specified bucket does not exist|operation lacked)"),
    "behind": (PublicationError, "which generation 2 in .* does not continue: nothing was uploaded"),
    "none": (PublicationError, "there is no publication in .*: publish the site first"),
    "belongs": (SettingsError, f"the publication at {MUSEUM} belongs to "),
    "DocumentError": (DocumentError, "a DOCTYPE is refused"),
    "NoHostError": (NoHostError, "no such host"),
    "PermanentError": (PermanentError, "redirects elsewhere"),
    "StatusError": (StatusError, "the server answered (403|500)"),
    "TransportError": (TransportError, "answered (403|500)|HTML page|redirects elsewhere|bucket does not exist|lacked"),
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

    def prepare(self, reader: str, name: str) -> None:
        """Put something into the place of a reader, and what is known to where that is."""
        where, _, output, seen = READERS[reader]
        self.put(output or "none", "site/output")
        self.put(seen or "none", f"site/{KEPT}")
        self.place = self.put("same" if name in ANSWERS else name, where)
        self.base.mkdir(exist_ok=True)
        for path, (data, _) in tree(self.place).items() if where == "bucket" else ():
            self.server.put(path, data)
        self.server.fault = lambda *_: 403 if name == "403" else 0
        absent = status(404)
        public = ANSWERS.get(name, files(self.place)) if where == "place" else absent
        self.host.manner = hosts({MUSEUM: absent if reader == "moved" else public, ARCHIVE: public})

    def published(self) -> list[Tree | dict[str, bytes]]:
        """Return all that is published: in folders, and in the bucket without the lease of an upload."""
        objects = {path: data for path, data in self.server.contents().items() if path != LEASE}
        return [tree(self.place), tree(self.base / "output"), objects]

    def find(self, previous: str, moved_from: str = "") -> str:
        """Return the generation that would be continued, or started over from, and what is said about it."""
        output = PlainOutput(self.base / "output")
        search = PredecessorSearch(Layout(MUSEUM), output, self.base, previous=previous, moved_from=moved_from)
        with closing(search):
            found = search.find()
        known = found.previous or found.restarted_from
        if previous == "live" and not found.line.endswith("in the output is continued"):
            assert self.saved() == (known and known.state.generation)
        return f"{known.state.generation if known else '-'}:{found.line}"

    def saved(self) -> int | None:
        """Return the generation that is saved as last seen live, if that can be read."""
        with suppress(OSError, ValueError, KeyError):
            return int(json.loads((self.base / KEPT / STATE).read_bytes())["generation"])
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
        return f"{PublishedSite(target).sets['site'].state.generation}:"


Reader = Callable[[Scene], str]
#: The readers of each table, with the place that they read, and the names of what is in the output and was seen live.
READERS: dict[str, tuple[str, Reader, str, str]] = {
    "output": ("site/output", lambda scene: scene.find("output"), "", ""),
    "folder": ("place", lambda scene: scene.find("../place"), "", ""),
    "saved": (f"site/{KEPT}", lambda scene: scene.find("live"), "", ""),
    "not-live": ("site/output", lambda scene: scene.find("live"), "", ""),
    "offline": ("site/output", lambda scene: scene.find("live"), "", ""),
    "offline-2": ("site/output", lambda scene: scene.find("live"), "", "same"),
    "show": ("place", Scene.show, "", ""),
    "announce": ("place", lambda scene: scene.announce(str(scene.place)), "", ""),
    "live": ("place", lambda scene: scene.find("live"), "", ""),
    "live-2": ("place", lambda scene: scene.find("live"), "", "same"),
    "moved": ("place", lambda scene: scene.find("live", moved_from=ARCHIVE), "", ""),
    "URL": ("place", lambda scene: scene.find(ARCHIVE), "", ""),
    "over": ("place", lambda scene: scene.find("none"), "", ""),
    "show-URL": ("place", lambda scene: scene.show(MUSEUM), "", ""),
    "announce-URL": ("place", lambda scene: scene.announce(MUSEUM), "", ""),
    "bucket": ("bucket", lambda scene: scene.find(scene.bucket()), "", ""),
    "upload": ("bucket", Scene.upload, "same", ""),
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
        ("state", STATE, b"{"), ("no-state", STATE, None), ("format", STATE, b'{"format": 9}'),
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


@pytest.fixture
def scene(tmp_path: Path, made: Path, host: Live, server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Return an empty scene, in which nobody waits for a deployment."""
    server.restore({})
    monkeypatch.setenv("http_proxy", host.url)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(search, "ALLOWANCE", replace(search.ALLOWANCE, patience=0.0))
    return Scene(tmp_path, made, host, server)


@pytest.mark.promise("Continued")
@pytest.mark.parametrize(
    ("reader", "name", "expected"), [cell for table in (FOLDERS, WEB, BUCKETS) for cell in cells(table)]
)
def test_places(reader: str, name: str, expected: str, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is continued, or not, or refused by a message that says why; then nothing is altered anywhere."""
    scene.prepare(reader, name)
    is_offline = name == "missing" or reader.startswith("offline")
    monkeypatch.setenv("no_proxy", "127.0.0.1,museum.test,archive.test" if is_offline else "127.0.0.1")
    before, saved, (_, read, _, _) = scene.published(), scene.saved(), READERS[reader]
    if not (is_refused := expected.startswith("!")):
        generation, _, said = expected.partition(":")
        assert re.match(f"{generation}:.*{SAID[said]}" if said else f"{generation}:$", read(scene))
    else:
        error, message = REFUSED[expected[1:]]
        with pytest.raises(ResourceSyncError, match=message) as caught:
            read(scene)
        assert type(caught.value) is error
        assert saved is None or scene.saved() == saved
    assert (scene.published() == before) or (reader == "upload" and not is_refused)

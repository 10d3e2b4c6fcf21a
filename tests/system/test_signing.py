"""Signed publications: what a mirror refuses of a host that somebody else controls, and what a publisher continues."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import PublicationError, ResourceSyncError, SettingsError
from pelican_resourcesync.publication import PredecessorSearch
from pelican_resourcesync.system.files import sha256
from pelican_resourcesync.system.signing import ADOPT, ENVIRONMENT, SignatureError, SigningKey, verify_state
from sample_site.repository import DAYS, make_repository, publish_repository
from tests.kit.live import served
from tests.kit.publications import Source, utc
from tests.kit.sites import Site, run
from tests.kit.sources import FAST, files_of, following

KEY, OTHER = SigningKey.generate(), SigningKey.generate()
FIRST = {"a.html": b"one", "b.html": b"two"}
SECOND = {"a.html": b"one, changed", "b.html": b"two"}
STATE = "resourcesync/publication.json"
LISTED, CAPABILITIES = "resourcesync/site/resourcelist.xml", "resourcesync/site/capabilitylist.xml"
#: What is no signature.
UNREADABLE = '{"signature": {"key": 1, "replaced": [[]], "value": null}}'


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    """Yield a set that was published twice with a key, and is served on loopback."""
    output = tmp_path / "output"
    output.mkdir()
    with served(output) as address:
        source = Source(output, siteurl=address)
        source.publish(FIRST, "2024-01-01T12:00:00Z", key=KEY)
        shutil.copytree(output, tmp_path / "first")
        source.publish(SECOND, "2024-01-02T12:00:00Z", key=KEY)
        yield source


def mirror(source: Source, **options: Any) -> dict[str, bytes]:
    """Update the copy of a set beside it; return its files."""
    copy = source.output.parent / "copy"
    assert Mirror(source.siteurl, copy, replace(FAST, **options)).run().complete
    return files_of(copy)


def replaced(source: Source, name: str) -> None:
    """Let the host serve an earlier state of the output."""
    shutil.rmtree(source.output)
    shutil.copytree(source.output.parent / name, source.output)


def alter(file: Path, old: bytes, new: bytes) -> None:
    """Replace bytes in a file."""
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new))


def as_the_host(source: Source, **published: Any) -> None:
    """Publish other contents as whoever took over the host does: with all documents, and without the key."""
    replaced(source, "first")
    state = json.loads((source.output / STATE).read_bytes())
    del state["signature"]
    (source.output / STATE).write_text(json.dumps(state))
    source.publish({"a.html": b"malware", "b.html": b"two"}, "2024-01-03T12:00:00Z", **published)


def new_bytes(source: Source) -> None:
    """Alter a page, and its hash in the list."""
    (source.output / "b.html").write_bytes(b"owt")
    alter(source.output / LISTED, sha256(b"two").encode(), sha256(b"owt").encode())


def new_state(source: Source) -> None:
    """Alter the hash of the list in the state, too, which keeps its signature."""
    before = sha256((source.output / LISTED).read_bytes())
    new_bytes(source)
    alter(source.output / STATE, before.encode(), sha256((source.output / LISTED).read_bytes()).encode())


ATTACKS: dict[str, tuple[Callable[[Source], object], str]] = {
    "arbitrary bytes": (new_state, "its signature does not match its content"),
    "an altered list": (new_bytes, "resourcelist.xml does not match the signed publication.json"),
    "lists of two publications": (
        lambda source: shutil.copyfile(source.output.parent / "first" / LISTED, source.output / LISTED),
        "resourcelist.xml does not match the signed publication.json",
    ),
    "no link to the state": (
        lambda source: alter(source.output / CAPABILITIES, b'rel="status"', b'rel="related"'),
        "capabilitylist.xml is not signed",
    ),
    "a list that is hidden": (
        lambda source: alter(source.output / CAPABILITIES, b'"changelist"', b'"changeless"'),
        "capabilitylist.xml does not match the signed publication.json",
    ),
    "no state": (lambda source: (source.output / STATE).unlink(), "publication.json"),
    "no signature": (lambda source: (source.output / STATE).write_text(UNREADABLE), "is not signed with the key"),
    "a publication without a key": (as_the_host, "is not signed"),
    "another key": (lambda source: as_the_host(source, key=OTHER), "it is signed with another key"),
    "a key that claims to replace ours": (
        lambda source: as_the_host(source, key=replace(OTHER, replaced=OTHER.replaced_by(KEY).replaced)),
        "it is signed with another key",
    ),
}


@pytest.mark.promise("Signed is signed")
@pytest.mark.parametrize("key", [(KEY.public,), ()], ids=["given", "seen first"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_attack(source: Source, attack: str, key: tuple[str, ...]) -> None:
    """Whatever a host does without the key, the copy stays what it was, and the error says what is wrong."""
    before = mirror(source, key=key)
    assert before["a.html"] == SECOND["a.html"]
    act, message = ATTACKS[attack]
    act(source)
    copy = Mirror(source.siteurl, source.output.parent / "copy", replace(FAST, key=key))
    with suppress(ResourceSyncError):  # where nothing new is listed, no other list is read
        copy.run()
    for read_lists in (copy.repair, copy.audit):
        with pytest.raises(ResourceSyncError, match=message):
            read_lists()
    assert files_of(source.output.parent / "copy") == before


@pytest.mark.promise("Signed is signed")
@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack != "no state"])
def test_first_copy(source: Source, attack: str) -> None:
    """With a key, not even the first copy takes what it did not sign."""
    act, message = ATTACKS[attack]
    act(source)
    with pytest.raises(SignatureError, match=message):
        mirror(source, key=(KEY.public,))


@pytest.mark.promise("Signed is signed")
def test_rollback(source: Source) -> None:
    """An older publication is refused although its signature is valid, unless the user accepts it."""
    before = mirror(source)
    replaced(source, "first")
    with pytest.raises(SignatureError, match="older than the one read last: if that is right, add --accept-older"):
        mirror(source)
    assert files_of(source.output.parent / "copy") == before
    assert mirror(source, accept_older=True)["a.html"] == FIRST["a.html"]


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("lost", ["database", "trusted"])
def test_state_that_is_lost(source: Source, lost: str) -> None:
    """No key is trusted in silence after that: only the one that the user gives, and from then on."""
    before, own = mirror(source), source.output.parent / "copy/.mirror"
    if lost == "database":
        (own / "state.sqlite3").write_bytes(b"damaged")
    else:
        (own / "trusted.json").unlink()
    adopt = lost != "database"
    shutil.copytree(source.output, source.output.parent / "second")
    as_the_host(source, key=OTHER)
    for _ in range(2):
        with pytest.raises(SignatureError, match=r"is signed, and the state of the copy was lost, .*: add --key KEY"):
            mirror(source, adopt=adopt)
    replaced(source, "second")
    with pytest.raises(SignatureError, match=": add --key KEY"):
        mirror(source, adopt=adopt)
    assert mirror(source, adopt=adopt, key=(KEY.public,)) == mirror(source) == before
    as_the_host(source, key=OTHER)
    with pytest.raises(SignatureError, match="it is signed with another key"):
        mirror(source)


def test_a_plan_trusts_nothing_new(source: Source) -> None:
    """It may look at an older publication, which is refused as before in the next run."""
    mirror(source)
    replaced(source, "first")
    assert Mirror(source.siteurl, source.output.parent / "copy", replace(FAST, accept_older=True)).plan().fetch == 1
    with pytest.raises(SignatureError, match="older than the one read last"):
        mirror(source)


def test_follow(source: Source) -> None:
    """A program without a copy knows the key and the publication by its cursor."""
    changes = following(source.siteurl, "", FAST)
    assert [change.kind for change in changes] == ["created", "created"]
    assert [change.uri for change in following(source.siteurl, changes.cursor, FAST)] == []
    source.publish({"a.html": b"three", "b.html": b"two"}, "2024-01-03T12:00:00Z", key=KEY)
    later = following(source.siteurl, changes.cursor, FAST)
    assert [change.uri.rpartition("/")[2] for change in later] == ["a.html"]
    as_the_host(source, key=OTHER)
    with pytest.raises(SignatureError, match="it is signed with another key"):
        list(following(source.siteurl, later.cursor, FAST))
    replaced(source, "first")
    with pytest.raises(SignatureError, match="older than the one read last"):
        list(following(source.siteurl, later.cursor, FAST))


@pytest.mark.promise("Signed is signed")
def test_fork(source: Source) -> None:
    """Another publication with the number of the one that was read is refused."""
    mirror(source)
    replaced(source, "first")
    source.publish({"a.html": b"a fork", "b.html": b"two"}, "2024-01-02T13:00:00Z", key=KEY)
    with pytest.raises(SignatureError, match=r"the same generation as .* contents: if .*, add --accept-older$"):
        mirror(source)


def test_freeze(source: Source) -> None:
    """A publication that is too old by the user's measure is refused."""
    with pytest.raises(SignatureError, match="is dated 2024-01-02T12:00:00Z, which is older than --max-age allows"):
        mirror(source, max_age=3600.0)
    assert mirror(source, max_age=1e10)["a.html"] == SECOND["a.html"]


@pytest.mark.promise("Signed is signed")
def test_new_publications_are_followed(source: Source) -> None:
    """What the key signs is copied, through changes, a takedown and a new key that the old one signed."""
    mirror(source)
    source.publish({"a.html": b"three", "b.html": b"two"}, "2024-01-03T12:00:00Z", key=KEY)
    assert mirror(source)["a.html"] == b"three"
    source.forget(f"{source.siteurl}/b.html", built=utc("2024-01-04T12:00:00Z"), key=KEY)
    (source.output / "b.html").unlink()
    assert mirror(source).keys() == {"a.html"}
    new = SigningKey.generate(KEY)
    source.publish({"a.html": b"four"}, "2024-01-05T12:00:00Z", key=new)
    assert mirror(source)["a.html"] == b"four"
    before = source.output.parent / "copy"
    assert mirror(source, key=(KEY.public,)) == mirror(source, key=(new.public,)) == files_of(before)
    source.publish({"a.html": b"five"}, "2024-01-06T12:00:00Z", key=KEY)
    with pytest.raises(SignatureError, match="it is signed with another key"):  # the old key has been replaced
        mirror(source)


def test_hash_is_needed(source: Source, tmp_path: Path) -> None:
    """A resource that a signed list gives no SHA-256 of is not copied."""
    listed = source.output / LISTED
    before = sha256(listed.read_bytes())
    alter(listed, f'hash="sha-256:{sha256(b"two")}" '.encode(), b"")
    alter(source.output / STATE, before.encode(), sha256(listed.read_bytes()).encode())
    state = json.loads((source.output / STATE).read_bytes())
    del state["signature"]
    (source.output / STATE).write_text(json.dumps(KEY.sign(state)))
    result = Mirror(source.siteurl, tmp_path / "copy", FAST).run()
    assert [(uri.rpartition("/")[2], "without its SHA-256" in why) for uri, why in result.missing] == [("b.html", True)]


def test_set_that_is_hidden(source: Source) -> None:
    """A set that a Source Description, which nobody signs, no longer lists is not deleted."""
    other = replace(source, set_name="other")
    other.publish({"c.html": b"three"}, "2024-01-03T12:00:00Z", key=KEY)
    source.publish(SECOND, "2024-01-03T12:00:00Z", key=KEY)
    before = mirror(source)
    assert before.keys() == {"a.html", "b.html", "c.html"}
    assert mirror(source, set=("site",), max_deletions=100.0).keys() == {"a.html", "b.html"}
    assert mirror(source) == before
    for name in ("resourcesync/description.xml", ".well-known/resourcesync"):
        description = (source.output / name).read_text()
        begin = description.rindex("<url>", 0, description.index("/other/capabilitylist.xml"))
        end = description.index("</url>", begin) + len("</url>")
        (source.output / name).write_text(description[:begin] + description[end:])
    with pytest.raises(
        SignatureError, match=r"the set of \S+/other/publication.json is no longer listed in the Source Description"
    ):
        mirror(source)
    assert files_of(source.output.parent / "copy") == before
    assert mirror(source, accept_older=True, max_deletions=100.0).keys() == {"a.html", "b.html"}


def test_without_the_extra(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library, a signed Source is copied as an unsigned one, but not where a key is asked for."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    assert mirror(source)["a.html"] == SECOND["a.html"]
    with pytest.raises(SettingsError, match=r"pip install 'pelican-resourcesync\[sign\]'"):
        mirror(source, key=(KEY.public,))


# The publisher


def find(source: Source, key: SigningKey | None) -> object:
    """Find what the next publication continues."""
    search = PredecessorSearch(source.layout, source.output, source.output.parent, previous="output", key=key)
    return search.find().previous


@pytest.mark.promise("Signed is signed")
def test_only_what_the_key_signed_is_continued(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publication that the key, or one that it replaced, did not sign stops the next one; so does a lost key."""
    assert find(source, KEY)
    assert find(source, SigningKey.generate(KEY))
    with pytest.raises(PublicationError, match=f"is signed, and {ENVIRONMENT} is not set: set {ADOPT}=1 once"):
        find(source, None)
    with pytest.raises(
        PublicationError, match=f"cannot be continued: {STATE} is not signed with the key {OTHER.public}"
    ):
        find(source, OTHER)
    with pytest.raises(PublicationError, match=f"is signed, and {ENVIRONMENT} is not set"):
        source.forget(f"{source.siteurl}/b.html", built=utc("2024-01-04T12:00:00Z"))
    source.publish(SECOND, "2024-01-03T12:00:00Z", key=None)
    assert find(source, None)
    with pytest.raises(PublicationError, match="it has no signature"):
        find(source, KEY)
    monkeypatch.setenv(ADOPT, "1")
    assert find(source, KEY)


@pytest.mark.promise("Signed is signed")
def test_altered_state_is_not_continued(source: Source) -> None:
    """One altered character of the state is found."""
    alter(source.output / STATE, b'"created": ', b'"created": 1')
    with pytest.raises(PublicationError, match="its signature does not match its content"):
        find(source, KEY)


def test_nothing_changed(source: Source) -> None:
    """Without a change the signed state stays as it is, byte for byte; a new key is a change."""
    before = (source.output / STATE).read_bytes()
    source.publish(SECOND, "2024-01-03T12:00:00Z", key=KEY)
    assert (source.output / STATE).read_bytes() == before
    source.publish(SECOND, "2024-01-03T12:00:00Z", key=SigningKey.generate(KEY))
    assert (source.output / STATE).read_bytes() != before


def test_conforms(source: Source, capsys: pytest.CaptureFixture[str]) -> None:
    """A signed publication follows the standard."""
    assert main(["check", "--deep", "--strict", str(source.output)]) == 0, capsys.readouterr().out


def test_site(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plug-in signs with the key in the environment, and continues what is live only if the key signed it."""
    monkeypatch.setenv(ENVIRONMENT, str(KEY))
    site.build()
    state = site.output / STATE
    assert verify_state(json.loads(state.read_bytes()), KEY.public, STATE) == KEY.public
    site.article("another.md", "Another", at="2024-03-01T12:00:00Z")
    site.build()
    before = state.read_bytes()
    monkeypatch.setenv(ENVIRONMENT, str(OTHER))
    assert run(site)[0] == 1
    assert state.read_bytes() == before


def test_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does the bridge, for each of its sets."""
    monkeypatch.setenv(ENVIRONMENT, str(KEY))
    first, second, *_ = DAYS
    make_repository(tmp_path / "repository", "http://localhost:8000")
    publish_repository(tmp_path / "repository", first)
    states = [*tmp_path.rglob("publication.json")]
    assert states
    for state in states:
        assert verify_state(json.loads(state.read_bytes()), KEY.public, state.name) == KEY.public
    monkeypatch.setenv(ENVIRONMENT, str(OTHER))
    with pytest.raises(subprocess.CalledProcessError):
        publish_repository(tmp_path / "repository", second)


# Keys


def test_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`key` prints a private key and its public one, and replaces the key in the environment."""
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert main(["key", "--public"]) == 2
    assert f"{ENVIRONMENT} is not set" in capsys.readouterr().err
    assert main(["key"]) == 0
    private, public = capsys.readouterr().out.split()
    monkeypatch.setenv(ENVIRONMENT, private)
    assert main(["key", "--public"]) == 0
    assert capsys.readouterr().out.split() == [public]
    assert main(["key", "--replace"]) == 0
    new, new_public = (SigningKey.parse(private), public), capsys.readouterr().out.split()
    content = SigningKey.parse(new_public[0]).sign({"any": "thing"})
    assert verify_state(content, public, "it") == new_public[1]
    with pytest.raises(SignatureError, match="it is not signed with the key"):
        verify_state(new[0].sign({"any": "thing"}), new_public[1], "it")


@pytest.mark.parametrize(
    "text",
    ["secret", f"{KEY}=", f"{KEY},{OTHER.public}=abc", f"{str(KEY)[:-1]}", KEY.public],
    ids=["text", "pair", "signature", "short", "public"],
)
def test_unusable_key(text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that cannot be used is refused, and not shown."""
    monkeypatch.setenv(ENVIRONMENT, text)
    assert main(["key", "--public"]) == 2
    said = capsys.readouterr().err
    assert f"{ENVIRONMENT} is not a key" in said
    assert text not in said


def test_unusable_public_key(capsys: pytest.CaptureFixture[str]) -> None:
    """So is a public key."""
    with pytest.raises(SystemExit):
        main(["mirror", "http://museum.example/", "copy", "--key", "ed25519:abc"])
    assert "--key" in capsys.readouterr().err

"""Proofs of copies: what they say, and how others check them against the Source."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror, MirrorError, check_proof
from tests.destination.sources import FAST, FakeSource, fake_source, stamp
from tests.destination.sources import digest as hash_of


@pytest.fixture
def source() -> Iterator[FakeSource]:
    """Yield a Source with a few resources."""
    with fake_source({"a.html": "one", "b/c.html": "two", "d.html": "three"}) as source:
        yield source


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command; give its exit status and what it says."""
    code = main([*map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def lines(source: FakeSource, paths: list[str]) -> str:
    """Return the digest, as the documentation describes it."""
    all_ = "".join(
        f"{source.url}{path}\t{hash_of(source.resources[path])}\t{len(source.resources[path])}\n" for path in paths
    )
    return f"sha-256:{hashlib.sha256(all_.encode()).hexdigest()}"


def test_prove_and_check(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file says what the copy is, and anyone can confirm it, also after the Source has changed."""
    folder, file = tmp_path / "copy", tmp_path / "proof.json"
    assert run(capsys, "mirror", source.url, folder, "--prove", file)[0] == 0
    proof = json.loads(file.read_text())
    at = stamp(source.now).replace("Z", ".000000Z")
    assert proof.pop("time") > "2026"
    assert proof == {
        "format": "pelican-resourcesync proof 1",
        "source": source.url,
        "at": at,
        "selection": {"sets": [], "only": [], "types": [], "hosts": []},
        "lists": [
            {
                "set": "rs",
                "uri": f"{source.url}rs/resourcelist.xml",
                "hash": hash_of(source.published["rs/resourcelist.xml"]),
            }
        ],
        "resources": 3,
        "bytes": 11,
        "digest": lines(source, ["a.html", "b/c.html", "d.html"]),
        "differences": 0,
    }
    told = f"{source.url} at {at}: 3 resources, {proof['digest']}"
    assert run(capsys, "check", "--proof", file) == (0, f"Confirmed: {told}\n", "")
    source.put("a.html", "new")
    source.delete("d.html")
    source.put("e.html", "e")
    source.publish()
    assert run(capsys, "check", "--proof", file) == (0, f"Confirmed: {told}\n", "")
    code, out, _ = run(capsys, "check", "--proof", file, "--json")
    assert (code, json.loads(out)["confirmed"], json.loads(out)["problem"]) == (0, True, None)
    source.begin = source.now
    source.changes.clear()
    source.publish()
    code, out, _ = run(capsys, "check", "--proof", file)
    assert (code, told in out) == (1, True)
    assert out.startswith("Not confirmed: the Source lists something else now, and nothing says what the set 'rs' was")


def test_not_exact(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What differs is counted, in the file and by the exit status, and a check does not confirm it."""
    folder, file = tmp_path / "copy", tmp_path / "proof.json"
    assert run(capsys, "mirror", source.url, folder)[0] == 0
    (folder / "a.html").write_text("ONE")
    source.put("0.html", "new")
    source.put("d.html", "changed")
    source.delete("b/c.html")
    source.put("z.html", "new")
    source.publish()
    code, _, err = run(capsys, "mirror", source.url, folder, "--audit", "--prove", file)
    assert (code, "the copy differs in 5 resources" in err) == (1, True)
    assert json.loads(file.read_text())["differences"] == 5
    code, out, _ = run(capsys, "check", "--proof", file)
    assert (code, "was not exact: it differed from the Source in 5 resources" in out) == (1, True)
    source.delete("z.html")
    source.resources["d.html"] = b"CHANGED"  # of the same length
    source.publish()
    assert Mirror(source.url, folder, FAST).prove()["differences"] == 4
    source.delete("d.html")
    source.publish()
    assert Mirror(source.url, folder, FAST).prove()["differences"] == 4  # also those after all that is listed
    Mirror(source.url, folder, replace(FAST, max_deletions=100.0)).repair()
    plain = re.sub(rb'hash="[^"]*"', b"", source.resource_list())  # lengths alone
    source.change_lists = False
    source.publish()
    for number, text in enumerate((plain, plain.replace(b'length="3"', b'length="4"', 1))):
        source.published["rs/resourcelist.xml"] = text
        assert Mirror(source.url, folder, FAST).prove()["differences"] == number


def test_selection_and_hashes(source: FakeSource, tmp_path: Path) -> None:
    """A part of a Source, other hashes, and none."""
    options = replace(FAST, only=("*.html",))
    strong = f"sha-512:{hashlib.sha512(b'one').hexdigest()}".encode()
    mirror = Mirror(source.url, tmp_path / "copy", options)
    mirror.run()
    source.change_lists = False
    source.publish()
    for number, digest in enumerate((strong, b"sha-512:" + b"0" * 128)):
        source.published["rs/resourcelist.xml"] = source.resource_list().replace(hash_of(b"one").encode(), digest)
        assert mirror.prove()["differences"] == number
    source.hashes = False
    source.publish()
    proof = mirror.prove()
    assert (proof["differences"], proof["selection"]["only"]) == (0, ["*.html"])
    file = tmp_path / "proof"
    file.write_text(json.dumps(proof))
    assert check_proof(file, FAST)[1] == ""
    source.delete("a.html")
    source.publish()
    assert "the Source lists something else now, and nothing says what the set" in check_proof(file, FAST)[1]
    file.write_text(json.dumps({**proof, "at": ""}))
    assert check_proof(file, FAST)[1] == "the Source listed something else at that time, and does now"


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[]",
        "{}",
        '{"format":"pelican-resourcesync proof 1"}',
        "[" * 100_000,
        " " * 1_000_001,
    ],
)
def test_not_a_proof(text: str, tmp_path: Path) -> None:
    """A file that is no proof is refused."""
    (tmp_path / "proof").write_text(text)
    with pytest.raises(MirrorError, match="is not a proof"):
        check_proof(tmp_path / "proof")


def test_damaged_proofs(source: FakeSource, tmp_path: Path) -> None:
    """Whatever of it is changed, it is refused or not confirmed."""
    mirror, file = Mirror(source.url, tmp_path / "copy", FAST), tmp_path / "proof"
    mirror.run()
    proof = mirror.prove()
    for key, value in (
        ("source", 1),
        ("resources", "3"),
        ("differences", True),
        ("at", "yesterday"),
        ("selection", {"sets": [1], "only": [], "types": [], "hosts": []}),
    ):
        file.write_text(json.dumps({**proof, key: value}))
        with pytest.raises(MirrorError, match="is not a proof"):
            check_proof(file, FAST)
    file.write_text(json.dumps(proof) + " " * 1_000_000)
    with pytest.raises(MirrorError, match="is not a proof"):
        check_proof(file, FAST)
    for key, value in (("resources", 4), ("digest", "sha-256:0")):
        file.write_text(json.dumps({**proof, key: value}))
        assert check_proof(file, FAST)[1] != ""


def test_wrong_usage(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that cannot be read or written, and options that do not go together."""
    for arguments, message in (
        (["mirror", source.url, tmp_path / "copy", "--prove", tmp_path], "cannot be written: Is a directory"),
        (["mirror", source.url, tmp_path / "copy", "--dry-run", "--prove", "x"], "--prove needs a copy"),
        (["check", "--proof", tmp_path / "none"], "cannot be read: No such file"),
    ):
        code, _, err = run(capsys, *arguments)
        assert (code, message in err) == (2, True), err


def test_past(source: FakeSource, tmp_path: Path) -> None:
    """A copy of an earlier state is proved as that."""
    at = source.now
    source.put("e.html", "later")
    source.publish()
    mirror = Mirror(source.url, tmp_path / "copy", replace(FAST, at=at))
    mirror.run()
    proof = mirror.prove()
    assert (proof["differences"], proof["resources"]) == (0, 3)
    assert proof["at"] == stamp(at).replace("Z", ".000000Z")
    (tmp_path / "proof").write_text(json.dumps(proof))
    assert check_proof(tmp_path / "proof", FAST)[1] == ""

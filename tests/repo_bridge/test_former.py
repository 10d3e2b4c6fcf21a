"""Values that are hidden today are nowhere in what was public before: in no version, package, patch or page."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from io import BytesIO
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile, is_zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync import mirror
from pelican_resourcesync.publication import former_states
from pelican_resourcesync.settings import Archives, Dumps, VersionOptions
from pelican_resourcesync.system.dcz import apply_patch
from pelican_resourcesync.system.signing import ENVIRONMENT, SigningKey
from repo_bridge import inventory
from repo_bridge.settings import Query
from sample_site.dspace.repository import Sample, Thing, Value, rows_of
from sample_site.dspace.tables import Rows
from tests.kit.postgresql import Server
from tests.kit.repository.entities import register, relate
from tests.kit.repository.press import RECORD, Press, book, files_in, pack, steady
from tests.repo_bridge.reading.test_dump import plain_dump

ALL: dict[str, Any] = {
    "versions": VersionOptions(),
    "patches": True,
    "dumps": Dumps(resourcedump=True, changedump=True),
    "archives": Archives(changelist=None, changedump=None, resourcelist=None, resourcedump=None),
    "changes_by": "day",
    "allow_deletions": True,
}
NOTE, SUBJECT, AUTHOR, OTHER = "dc.description", "dc.subject", "dc.contributor.author", "local.note"


def all_bytes(press: Press, known: dict[bytes, bytes]) -> bytes:
    """Return all that anybody can read in the output: files, members of packages, and what patches lead to.

    `known` are all records that ever were public, by their SHA-256: patches are for these.
    """
    for each in press.records.rglob("*.xml"):
        known[sha256(each.read_bytes()).digest()] = each.read_bytes()
    read = []
    for name, data in files_in(press.public).items():
        read += [name.encode(), data]
        if is_zipfile(BytesIO(data)):
            with ZipFile(BytesIO(data)) as package:
                read += map(package.read, package.namelist())
        if name.endswith(".dcz"):
            old, new = (known[bytes.fromhex(digest)] for digest in Path(name).stem.split("-"))
            read.append(apply_patch(data, old, len(new)))
    return b"\n".join(read)


def item(number: int, *values: Value, **more: Any) -> Thing:
    """Return an item with a title and these values."""
    return Thing(number, metadata=[Value("dc.title", f"Title {number}"), *values], **more)


def versions(press: Press) -> list[str]:
    """Return the texts of all versions."""
    return [each.read_text("utf-8") for each in press.public.glob("resourcesync/*/versions/*")]


OWN = """
import json
def record(values):
    from xml.sax.saxutils import escape
    texts = {str(each.field): each.value for each in values}
    shown = json.dumps(texts) + " / ".join(value.upper() for value in texts.values())
    family, _, given = texts.get("dc.contributor.author", "").partition(", ")
    return f"<r xmlns='urn:own'><all>{escape(shown)}</all><f n='{family}'>{given}</f></r>"
"""

#: For each case what to hide on the third day, in which formats, what was public on the first day, and whether it still
#: is then; and the values of an item on the first day, and on the second with what is hidden on the third.
CASES: dict[str, tuple[str, str, str, bool, list[Value], list[Value]]] = {
    "the field is hidden": (NOTE, "oai_dc", "zq", False, [Value(NOTE, "zq")], [Value(NOTE, "zq"), Value(SUBJECT, "x")]),
    "hidden in each format": (NOTE, "mods", "zq", False, [Value(NOTE, "zq")], [Value(NOTE, "zq"), Value(SUBJECT, "x")]),
    "an editor changed it": (NOTE, "oai_dc", "zq", True,
        [Value(SUBJECT, "zq")], [Value(SUBJECT, "x"), Value(NOTE, "y")]),
    "changed, then hidden": (NOTE, "oai_dc", "zq", True, [Value(NOTE, "zq")], [Value(NOTE, "other")]),
    "moved to a hidden field": (OTHER, "oai_dc", "zq", False, [Value(SUBJECT, "zq")], [Value(OTHER, "zq")]),
    "a part of a text": (NOTE, "oai_dc", "zq", False, [Value(SUBJECT, "of zqueens")], [Value(NOTE, "zqueen")]),
    "a short value is no part": (NOTE, "oai_dc", "an zq", True, [Value(SUBJECT, "an zq")], [Value(NOTE, "zq")]),
    "escaped": (NOTE, "oai_dc,dim", "zq", False,
        [Value(SUBJECT, "zq&<>\"' \u00fc")], [Value(NOTE, " zq&<>\"'  u\u0308\n")]),
    "characters that XML has not": (NOTE, "oai_dc", "zq", False, [Value(SUBJECT, "zq\x01r")], [Value(NOTE, "zq\x01r")]),
    "another field still has it": (SUBJECT, "oai_dc", "<dc:subject>Doe, J", False,
        [Value(SUBJECT, "Doe, J"), Value(AUTHOR, "Doe, J")],
        [Value(SUBJECT, "Doe, J"), Value(AUTHOR, "Doe, J"), Value(NOTE, "x")]),
    "it was public in the other field": (SUBJECT, "oai_dc", "zq", True,
        [Value(AUTHOR, "Doe, J"), Value("dc.title.alternative", "zq")],
        [Value(SUBJECT, "Doe, J"), Value(AUTHOR, "Doe, J")]),
    "an authority": (NOTE, "dim", "zq", False,
        [Value(SUBJECT, "a", authority="zq-1")], [Value(NOTE, "b", authority="zq-1")]),
    "as JSON": (NOTE, "own", r"z\"\u00fcq", False, [Value(SUBJECT, 'z"\u00fcq')], [Value(NOTE, 'z"\u00fcq')]),
    "in capitals": (NOTE, "own", "ZQ", False, [Value(SUBJECT, "zq \u00fc")], [Value(NOTE, "zq \u00fc")]),
    "divided": (AUTHOR, "own", "n='Zq'", False,
        [Value(AUTHOR, "Zq, Qz")], [Value(AUTHOR, "Zq, Qz"), Value(NOTE, "x")]),
}  # fmt: skip


@pytest.mark.promise("Gone")
@pytest.mark.parametrize("case", CASES)
def test_cases(press: Press, case: str) -> None:
    """Former states of a record go if they have what is hidden now, in whatever form; all others stay."""
    hide, formats, text, stays, first, second = CASES[case]
    (press.folder / "own.py").parent.mkdir()
    (press.folder / "own.py").write_text(OWN)
    more = {**ALL, "metadata": tuple(formats.split(",")), "crosswalks": {"own": press.folder / "own.py"}}
    for number, values in enumerate([first, second]):
        press.publish(Sample(items=[item(1, *values), book(2)]), number, **more)
    assert any(text in each for each in versions(press))
    press.publish(Sample(items=[item(1, *second), book(2)]), 2, **more, hidden=frozenset({hide}))
    assert any(text in each for each in versions(press)) == stays
    assert (text.encode() in all_bytes(press, {})) == stays
    assert any("Title 2" in each for each in versions(press))
    assert press.findings() == {}


# A life

_FIELDS = (NOTE, SUBJECT, AUTHOR, "dc.date.issued", OTHER)
_PERSON, _WORD = 4, re.compile(rb"zq[0-9]+q")
_GONE: tuple[dict[str, Any], ...] = (
    {"withdrawn": True, "in_archive": False},
    {"discoverable": False},
    {"policies": []},
)
_FORMS = "zq{}q", "see zq{}q & <more>", "zq{}q", "\u00e4 zq{}q"
_MANY = [sha256(b"%d" % number).hexdigest() for number in range(400)]  # large enough for patches


class Life:
    """Items with a word for each value, one of them by a person, who is an item; what is hidden may change each day."""

    def __init__(self, random: Random) -> None:
        """Begin with all values public."""
        self._random, self._numbers = random, count(100)
        self.items = {number: item(number, *(self._value(each) for each in _FIELDS)) for number in range(1, _PERSON)}
        self.items[1].metadata += [Value("dc.subject.ddc", text, place=n) for n, text in enumerate(_MANY)]
        self.items[_PERSON] = Thing(_PERSON)
        self.name, self.related, self.hidden = self._word(), [1, 2], set[str]()
        self.name_level: int | None = None

    def _word(self) -> str:
        return f"zq{next(self._numbers)}q"

    def _value(self, field: str) -> Value:
        form = self._random.choice(_FORMS if "." in field[3:] else _FORMS[:1])
        return Value(field, form.format(next(self._numbers)), authority=self._word())

    def live(self) -> None:
        """Let some things happen in a day."""
        for _ in range(self._random.randint(1, 3)):
            self._random.choice(
                [self._edit, self._edit, self._level, self._move, self._hide, self._withdraw, self._relate]
            )()

    def _one(self) -> Value:
        return self._random.choice(self.items[self._random.randrange(1, _PERSON)].metadata[1 : len(_FIELDS) + 1])

    def _edit(self) -> None:
        one = self._one()
        one.text, one.authority = self._value(one.field).text, self._word()
        self.name = self._random.choice([self.name, self._word()])

    def _level(self) -> None:
        one = self._one()
        one.security_level = self._random.choice([None, 1])
        self.name_level = self._random.choice([None, None, 2])

    def _move(self) -> None:
        self._one().field = self._random.choice(_FIELDS)

    def _hide(self) -> None:
        self.hidden ^= {self._random.choice([*_FIELDS, "person.familyName"])}

    def _withdraw(self) -> None:
        one = self.items[self._random.choice([1, 2, _PERSON, _PERSON])]
        is_gone = one.withdrawn or not one.discoverable or not one.policies
        state = vars(Thing(0)) if is_gone else self._random.choice(_GONE)
        for name in ("withdrawn", "in_archive", "discoverable", "policies"):
            setattr(one, name, deepcopy(state.get(name, vars(Thing(0))[name])))

    def _relate(self) -> None:
        """Relate other items, and change the name: what an item no longer related has of it, an editor has changed."""
        self.related, self.name = self._random.choice([[1, 2], [2], [1, 3]]), self._word()

    def rows(self) -> Rows:
        """Return the rows of version 10."""
        rows = steady(rows_of(Sample(items=[*self.items.values()]), 10))
        register(rows)
        relate(rows, [(number, _PERSON, 1, 5, 0, None, None, 0) for number in self.related], 10)
        person = next(row["uuid"] for row in rows["item"] if row["item_id"] == _PERSON)
        for number, field, text in ((8000, 903, "Person"), (8001, 900, self.name)):
            row = {"metadata_value_id": number, "metadata_field_id": field, "text_value": text, "place": 0}
            level = self.name_level if field == 900 else None
            rows["metadatavalue"].append({**row, "dspace_object_id": person, "security_level": level})
        return rows

    def words(self) -> tuple[set[bytes], set[bytes]]:
        """Return the words that are hidden, and those that are public."""
        hidden, public = set[bytes](), set[bytes]()
        for number in range(1, _PERSON):
            thing = self.items[number]
            shown = bool(thing.discoverable and not thing.withdrawn and thing.policies)
            for value in thing.metadata:
                is_public = shown and not value.security_level and value.field not in self.hidden
                found = _WORD.findall(f"{value.text} {value.authority}".encode())
                (public if is_public else hidden).update(found)
            if number in self.related:
                person = self.items[_PERSON]
                is_public = shown and bool(person.discoverable and not person.withdrawn and person.policies)
                is_public = (
                    is_public
                    and not self.name_level
                    and not {"person.familyName", "dc.contributor.author"} & self.hidden
                )
                (public if is_public else hidden).add(self.name.encode())
        return hidden - public, public


@pytest.mark.promise("Gone")
@settings(max_examples=max(3, settings().max_examples // 20), deadline=None)
@given(st.integers(0, 1 << 32), st.booleans())
def test_no_leak_of_values(seed: int, dumps: bool) -> None:
    """Whatever happens in a life: no word that is hidden today is anywhere, and all that are public are there."""
    random = Random(seed)
    life, known = Life(random), dict[bytes, bytes]()
    with TemporaryDirectory() as folder:
        press = Press(Path(folder) / "0", version=10)
        formats = ["dim", random.choice(["oai_dc", "mods", "oai_openaire"])]  # the first has all
        for number in range(random.randint(4, 8)):
            if random.random() < 0.15:
                press = press.without_cache(f"{number}")
            more = {**ALL, "metadata": tuple(formats), "hidden": frozenset(life.hidden)}
            press.publish(life.rows(), number, **{**more, "dumps": ALL["dumps"] if dumps else Dumps()})
            hidden, public = life.words()
            found = {*_WORD.findall(all_bytes(press, known))}
            assert not hidden & found, (number, hidden & found)
            assert public <= found
            life.live()
        assert press.findings() == {}


# Ways to find it


def noted(press: Press, *notes: str, **more: Any) -> Sample:
    """Publish three items with these notes day by day, and return the last."""
    sample = Sample()
    for number, note in enumerate(notes):
        sample.items = [item(each, Value(NOTE, f"{note} {each}")) for each in (1, 2, 3)]
        press.publish(sample, number, **{**ALL, **more})
    return sample


def test_gaps(press: Press) -> None:
    """A record has no version for the time of a state that went, and the version of any other time."""
    noted(press, "one", "zqtwo", "three")
    values = [Value(NOTE, "three 1"), Value("local.note", "zqtwo")]
    sample = Sample(items=[item(1, *values), *(item(each, Value(NOTE, f"three {each}")) for each in (2, 3))])
    press.publish(sample, 3, **ALL, hidden=frozenset({"local.note"}))
    [file] = press.public.glob("resourcesync/*/versions.jsonl")
    [line] = [json.loads(each) for each in file.read_text("utf-8").splitlines() if "/1.xml" in each]
    assert [(time[:10], bool(more[0])) for time, *more in line[1]] == [
        ("2024-03-01", True),
        ("2025-06-16", False),
        ("2025-06-17", True),
    ]
    assert sorted(re.findall("(one|zqtwo|three) 1<", "".join(versions(press)))) == ["one", "three"]


def test_mirrors(press: Press, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that follows a signed publication is like a fresh one, before a value is hidden and after."""
    monkeypatch.setenv(ENVIRONMENT, str(SigningKey.generate()))
    sample = noted(press, "one")
    for number, hidden in enumerate([(), (NOTE,), (NOTE,)], 1):
        sample.items[number - 1].metadata.append(Value(SUBJECT, "new"))
        press.publish(sample, number, **ALL, hidden=frozenset(hidden))
        for copy in ("followed", f"fresh{number}"):
            assert mirror(str(press.public), str(tmp_path / copy), set=("repository-metadata",)).complete
        copies = [tree(tmp_path / copy) for copy in ("followed", f"fresh{number}")]
        assert copies[0] == copies[1]
        assert (b"one 1" in b"".join(copies[0].values())) == (number == 1)
    assert press.findings() == {}


def tree(folder: Path) -> dict[str, bytes]:
    """Return the records in a copy."""
    return {path: data for path, data in files_in(folder).items() if path.endswith(".xml")}


@pytest.mark.parametrize("damaged", [True, False])
def test_packages_alone(press: Press, *, damaged: bool) -> None:
    """Without versions, packages are looked through; a damaged one goes, because it may have anything."""
    more: dict[str, Any] = {"versions": None, "patches": False}
    sample = noted(press, "one", "zqtwo", **more)
    packages = [*press.public.glob("resourcesync/*/*.zip")]
    for each in packages if damaged else ():
        each.write_bytes(each.read_bytes()[:40].ljust(each.stat().st_size, b"?"))
    press.publish(sample, 2, **{**ALL, **more}, hidden=frozenset({NOTE}))
    assert b"zqtwo" not in all_bytes(press, {})
    assert not any(each.exists() for each in packages)
    assert press.findings() == {}


@pytest.mark.parametrize("hides", [True, False])
def test_patches_alone(press: Press, *, hides: bool) -> None:
    """A patch to a state whose version a limit has removed goes, if the record has any hidden value."""
    more = {**ALL, "dumps": Dumps(), "metadata": ("mods",), "versions": VersionOptions(number=1)}
    many = [Value("dc.subject.ddc", text, place=place) for place, text in enumerate(_MANY)]
    for number in range(3):
        sample = Sample(items=[item(1, *many, Value(NOTE, "note"), Value(SUBJECT, f"{number}")), book(2)])
        press.publish(sample, number, **more)
    before = {each.name for each in press.public.rglob("*.dcz")}
    assert len(before) == 2
    press.publish(sample, 3, **more, hidden=frozenset({NOTE} if hides else ()))
    after = {each.name for each in press.public.rglob("*.dcz")}
    assert (len(after), before < after or before == after) == (1 if hides else 2, not hides)
    assert press.findings() == {}


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_to_be_kept(press: Press, *, keeps: bool) -> None:
    """Those who keep what was withdrawn keep this, too; when they change their mind, it goes with the next run."""
    sample = noted(press, "one", "zqtwo")
    hide = {**ALL, "hidden": frozenset({NOTE})}
    press.publish(sample, 2, **hide, on_withdrawal="keep" if keeps else "remove")
    assert (b"zqtwo" in all_bytes(press, {})) == keeps
    press.publish(sample, 3, **hide)
    assert b"zqtwo" not in all_bytes(press, {})


def test_only_what_changed_is_looked_through(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without changes reads no former state; all are read after the inventory was lost, or for another output."""
    read: list[str] = []

    def counted(*given: Any) -> Any:
        for each in former_states(*given):
            read.append(each[0])
            yield each

    monkeypatch.setattr("repo_bridge.plan.former_states", counted)

    def number_read(number: int) -> int:
        read.clear()
        press.publish(sample, number, **ALL, hidden=frozenset({"local.note"}))
        return len(read)

    sample = noted(press, "one", "two", hidden=frozenset({"local.note"}))
    for each in sample.items:
        each.metadata.append(Value("local.note", "hidden"))
    assert [number_read(number) for number in (2, 3)] == [3, 0]
    sample.items[0].metadata[1].text = "three"
    assert [number_read(number) for number in (4, 5)] == [2, 0]
    (press.kept / "checked.json").write_text("[")
    assert [number_read(number) for number in (6, 7)] == [4, 0]


@pytest.mark.promise("Gone")
def test_killed(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed before or after its documents are there is made up for by the next one."""
    sample = noted(press, "one", "zqtwo")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    for number, what in enumerate(["repo_bridge.plan.FormerRecords.keep", "repo_bridge.publisher.publish_sets"], 2):
        sample.items[0].metadata[1].text = f"{number}"
        hidden = frozenset({NOTE}) if number == 3 else frozenset[str]()
        with monkeypatch.context() as patch:
            patch.setattr(what, killed)
            with pytest.raises(KeyboardInterrupt):
                press.publish(sample, number, **ALL, hidden=hidden)
    press.publish(sample, 4, **ALL, hidden=frozenset({NOTE}))
    assert not re.search(b"zqtwo [23]", all_bytes(press, {}))


@pytest.mark.parametrize("related", ["withdrawn", "discoverable"])
def test_of_changed_items_alone(tmp_path: Path, server: Server, related: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only changed items are read: by a change of a related item, and of the level of a value."""
    monkeypatch.setattr(inventory, "_MANY", 1)
    press, life = Press(tmp_path / "press", 10, server=server), Life(Random(1))
    life.items |= {number: item(number) for number in range(10, 20)}
    more, known = {**ALL, "metadata": ("dim",)}, dict[bytes, bytes]()
    try:
        for number in range(2):
            press.publish(life.rows(), number, **more)
            all_bytes(press, known)
            life.items[1].metadata[1].text = "other"
        setattr(life.items[_PERSON], related, related == "withdrawn")
        life.items[3].metadata[2].security_level = 1
        press.publish(life.rows(), 2, **more)
        assert press.read_some
        hidden, public = life.words()
        assert {life.name.encode()} < hidden
        found = {*_WORD.findall(all_bytes(press, known))}
        assert not hidden & found
        assert public <= found
    finally:
        server.drop(press.url)


def of_query(press: Press, number: int, note: str, hidden: frozenset[str]) -> None:
    """Publish an item of a query with a note."""
    query = Query(statement="SELECT uri, item FROM f", metadata="SELECT item, field, value FROM m")
    values = [("1", "dc.title", f"Title {number}"), ("1", "dc.description", note)]
    tables: dict[str, Any] = {"f (uri, item)": [("https://a.example/1", "1")], "m (item, field, value)": values}
    press.publish_query(query, tables, number, **ALL, hidden=hidden)


def of_archive(press: Press, number: int, note: str, hidden: frozenset[str]) -> None:
    """Publish an item of an archive with a note."""
    record = RECORD.format(number).replace("</dub", f'<dcvalue element="description">{note}</dcvalue></dub')
    folder = pack(press.folder / "saf", {"a": {"dublin_core.xml": record}})
    press.publish(None, number, saf=folder, **ALL, hidden=hidden)


def of_dump(press: Press, number: int, note: str, hidden: frozenset[str]) -> None:
    """Publish an item of a dump with a note."""
    file = press.folder / "dump.sql"
    file.parent.mkdir(exist_ok=True)
    file.write_text(plain_dump(Sample(items=[item(1, Value(NOTE, note), Value(SUBJECT, f"{number}"))]), 7), "utf-8")
    press.publish(None, number, database=str(file), **ALL, hidden=hidden)


@pytest.mark.parametrize("source", [of_query, of_archive, of_dump])
def test_sources(press: Press, source: Callable[[Press, int, str, frozenset[str]], None]) -> None:
    """It is the same whatever is read."""
    source(press, 0, "zqnote", frozenset())
    source(press, 1, "zqnote", frozenset())
    assert b"zqnote" in all_bytes(press, {})
    source(press, 2, "zqnote", frozenset({NOTE}))
    assert b"zqnote" not in all_bytes(press, {})
    assert press.findings() == {}

"""The cache: what is kept comes back exactly, or not at all; nothing that is wrong with it is ever an error."""

import gc
import json
import logging
import os
import pickle
import shutil
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pelican_resourcesync.site import cache as module
from pelican_resourcesync.site.cache import PLACE, Cache, Json
from tests.sites import ROOT, Site

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.text(st.characters(), max_size=8)  # with the surrogates that names of files may have
ENTRIES: dict[str, Json] = {"a": ["a.md", 1, 2.5, None, True, "größe"], "b": None}

#: Writes the letter it is given, many times, to a table that others write too.
WRITER = """
import sys
from pathlib import Path
from pelican_resourcesync.site.cache import Cache
folder, letter = Path(sys.argv[1]), sys.argv[2]
for number in range(30):
    with Cache.open(folder) as cache:
        table = cache.table("shared")
        found = {name: table.get(name) for name in map(str, range(50)) if table.get(name) is not None}
        assert len(set(found.values())) <= 1 and len(found) in (0, 50), found
        for name in range(50):
            cache.table("shared").put(str(name), letter)
        cache.table(f"{letter}{number}").put("x", number)
"""


def keep(beside: Path, key: str = "key", **entries: Json) -> Path:
    """Keep values in a table, as one build does, and give its file."""
    with Cache.open(beside) as cache:
        table = cache.table(key)
        for name, value in (entries or ENTRIES).items():
            table.put(name, value)
    return beside / PLACE / f"{module._digest(key)}.table"


def kept(beside: Path, key: str = "key", *names: str) -> dict[str, Json]:
    """Give what another build finds in a table."""
    entries = Cache.open(beside).table(key).all()
    return {name: entries[name] for name in names or ENTRIES if name in entries}


def forge(beside: Path, body: bytes, key: str = "key") -> None:
    """Write a table as one does who knows how: with a head that is right."""
    file = keep(beside, key)
    name = file.name.removesuffix(".table")
    file.write_bytes(f"resourcesync-cache {name} {sha256(body).hexdigest()}\n".encode() + body)


def files(beside: Path) -> set[str]:
    """Give the names of all that lies in the cache."""
    return {file.name for file in (beside / PLACE).iterdir()}


def age(file: Path, hours: float) -> None:
    """Let a file be so old."""
    then = time.time() - hours * 3600
    os.utime(file, (then, then))


def run(script: str, folder: Path, code: Path = ROOT) -> str:
    """Run a script in a process that nobody traces, with the package as it is in the folder `code`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(code)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return process.stdout


@given(st.dictionaries(NAMES, VALUES, max_size=6))
@example({"\ud83d\ude00": "\ud83d\ude00", "\U0001f600": "\U0001f600"})
def test_values_come_back_exactly(entries: dict[str, Json]) -> None:
    """Whatever JSON can say is the same in the next build, to the type: 1 is not 1.0, nor True."""
    with TemporaryDirectory() as folder:
        with Cache.open(Path(folder)) as cache:
            for name, value in entries.items():
                cache.table("key").put(name, value)
        table = Cache.open(Path(folder)).table("key")
        assert repr(sorted(table.all().items())) == repr(sorted(entries.items()))
        assert all(repr(table.get(name)) == repr(value) for name, value in entries.items())


def test_what_was_never_kept(tmp_path: Path) -> None:
    """An unknown name has no value: `load` tells it from one that is `None`."""
    keep(tmp_path)
    table = Cache.open(tmp_path).table("key")
    assert (table.get("b"), table.get("z")) == (None, None)
    assert "b" in table.all()
    assert "z" not in table.all()


def test_later_value_wins(tmp_path: Path) -> None:
    """A name has one value, in this build and the next; what was kept before stays beside it."""
    keep(tmp_path)
    with Cache.open(tmp_path) as cache:
        cache.table("key").put("a", 2)
        assert cache.table("key").get("a") == 2
    assert kept(tmp_path) == {"a": 2, "b": None}


def test_tables_are_apart(tmp_path: Path) -> None:
    """What depends on other settings is another table."""
    keep(tmp_path, "one", a=1)
    keep(tmp_path, "two", a=2)
    assert (kept(tmp_path, "one"), kept(tmp_path, "two"), kept(tmp_path, "three")) == ({"a": 1}, {"a": 2}, {})


def test_table_of_another_key_is_none(tmp_path: Path) -> None:
    """A file under another name than its own proves nothing."""
    keep(tmp_path, "one").rename(keep(tmp_path, "two"))
    assert kept(tmp_path, "two") == {}


@pytest.mark.parametrize("maker", ["__version__", "_version", "sys"])
def test_other_versions_have_other_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: str) -> None:
    """Where Pelican, this plug-in or Python is another one, nothing of before is used; it comes back with them."""
    keep(tmp_path)
    with monkeypatch.context() as patched:
        if maker == "sys":
            patched.setattr(sys, "version", "4.0")
        else:
            patched.setattr(module, maker, "999" if maker == "__version__" else lambda name: f"{name} 999")
        module._makers.cache_clear()
        assert kept(tmp_path) == {}
    module._makers.cache_clear()
    assert kept(tmp_path) == ENTRIES


@pytest.mark.parametrize("changed", [False, True])
def test_other_code_has_other_tables(tmp_path: Path, changed: bool) -> None:
    """A plug-in that was changed without a new version, as when it is developed, does not believe its past self."""
    keep(tmp_path)
    shutil.copytree(ROOT / "pelican_resourcesync", tmp_path / "pelican_resourcesync")
    if changed:
        with (tmp_path / "pelican_resourcesync/git/landing.py").open("a") as code:
            code.write("# changed\n")
    script = (
        "from pathlib import Path; from pelican_resourcesync.site.cache import Cache; "
        "print(Cache.open(Path('.')).table('key').get('a') is None)"
    )
    assert run(script, tmp_path, code=tmp_path) == f"{changed}\n"


def test_what_is_not_installed_has_no_version() -> None:
    """A site without Markdown has a cache too."""
    assert module._version("pelican") != module._version("a distribution that is not there") == ""


@given(st.data())
def test_damage_is_noticed(data: st.DataObject) -> None:
    """Any byte that is another, missing or too much: all of it is there no more, and the next build makes it anew."""
    with TemporaryDirectory() as folder:
        file = keep(Path(folder))
        whole = file.read_bytes()
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, min(len(whole), start + 9)))
        damaged = whole[:start] + data.draw(st.binary(max_size=9)) + whole[end:]
        file.write_bytes(damaged)
        assert kept(Path(folder)) == (ENTRIES if damaged == whole else {})
        keep(Path(folder))
        assert file.read_bytes() == whole


class Bomb:
    """What a pickle does when it is read."""

    def __init__(self, file: Path) -> None:
        """Take the file that it makes."""
        self._file = file

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        """Make the file."""
        return Path.touch, (self._file,)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no zlib",
        zlib.compress(b""),
        zlib.compress(b"{"),
        zlib.compress(b"[]"),
        zlib.compress(b"null"),
        zlib.compress(b'{"a": NaN}'),
        zlib.compress(b'{"a": -Infinity}'),
        zlib.compress(b'{"a": "\xff"}'),
        zlib.compress(b'{"a": 1}')[:-3],
        zlib.compress(b'{"a": ' + b"9" * 10**5 + b"}"),
        zlib.compress(b'{"a": ' + b"[" * 10**6 + b"]" * 10**6 + b"}"),
        zlib.compress(b'{"a": ' * 10**5 + b"1" + b"}" * 10**5),
    ],
)
def test_table_of_somebody_elses_making(tmp_path: Path, body: bytes) -> None:
    """A proof that is right, of what is no table: it is there no more, and no error."""
    forge(tmp_path, body)
    assert kept(tmp_path) == {}


def test_table_that_would_run(tmp_path: Path) -> None:
    """Nothing that is read is run."""
    bomb = pickle.dumps(Bomb(tmp_path / "ran"))
    for body in (bomb, zlib.compress(bomb)):
        forge(tmp_path, body)
        assert kept(tmp_path) == {}
    assert not (tmp_path / "ran").exists()
    pickle.loads(bomb)
    assert (tmp_path / "ran").exists()


def spaces() -> bytes:
    """Give much of what means nothing in JSON, in few bytes."""
    packing = zlib.compressobj(1)
    return b"".join([*(packing.compress(b" " * 2**20) for _ in range(256)), packing.flush()])


@pytest.mark.parametrize("body", [spaces, lambda: zlib.compress(b'{"a": [' + b"[]," * 6_000_000 + b"1]}", 1)])
def test_table_that_would_use_up_memory(tmp_path: Path, body: Callable[[], bytes]) -> None:
    """Much in a few bytes is not unpacked, and what becomes much in memory is not made."""
    forge(tmp_path, body())
    assert peak(lambda: kept(tmp_path)) < 200_000_000


def test_file_that_would_use_up_memory(tmp_path: Path) -> None:
    """A file that is larger than any of ours is not read."""
    os.truncate(keep(tmp_path), 2**28)
    assert peak(lambda: kept(tmp_path)) < 200_000_000


def peak(find: Callable[[], dict[str, Json]]) -> int:
    """Give the most bytes held at a time while nothing is found."""
    tracemalloc.start()
    try:
        assert find() == {}
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("body", [zlib.compress(b'{"a": 1}'), zlib.compress(b"{")])
def test_collector_of_garbage_is_left_as_it_was(tmp_path: Path, enabled: bool, body: bytes) -> None:
    """Python's collector, which is held back while a table is read, goes on where it was on."""
    forge(tmp_path, body)
    (gc.enable if enabled else gc.disable)()
    try:
        kept(tmp_path)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_table_that_is_no_file(tmp_path: Path) -> None:
    """A pipe, which never ends, a link, which leads anywhere, a folder: none is read, and one can be replaced."""
    file = keep(tmp_path)
    elsewhere = file.rename(tmp_path / "elsewhere")
    file.symlink_to(elsewhere)
    age(elsewhere, 48)
    with Cache.open(tmp_path) as cache:
        assert cache.table("key").all() == {}
    assert time.time() - elsewhere.stat().st_mtime > 47 * 3600
    file.unlink()
    os.mkfifo(file)
    assert kept(tmp_path) == {}
    keep(tmp_path)
    assert kept(tmp_path) == ENTRIES
    file.unlink()
    file.mkdir()
    keep(tmp_path)
    assert kept(tmp_path) == {}


@pytest.mark.parametrize("link", [PLACE, PLACE.parent])
def test_cache_that_is_a_link_is_none(tmp_path: Path, link: Path) -> None:
    """A repository's link may lead to any folder of its reader: nothing is read there, written or removed."""
    elsewhere = tmp_path / "elsewhere"
    keep(elsewhere)
    before = {file: file.stat().st_mtime_ns for file in elsewhere.rglob("*")}
    (tmp_path / "site" / link).parent.mkdir(parents=True)
    (tmp_path / "site" / link).symlink_to(elsewhere / link)
    keep(tmp_path / "site", a=1)
    assert kept(tmp_path / "site") == {}
    assert {file: file.stat().st_mtime_ns for file in elsewhere.rglob("*")} == before


def test_deleted_between_builds_or_within_one(tmp_path: Path) -> None:
    """It is safe to delete at any time."""
    keep(tmp_path)
    with Cache.open(tmp_path) as cache:
        assert cache.table("key").get("a") == ENTRIES["a"]
        shutil.rmtree(tmp_path / PLACE.parent)
        cache.table("key").put("c", 3)
    assert kept(tmp_path, "key", "a", "c") == {"a": ENTRIES["a"], "c": 3}
    shutil.rmtree(tmp_path / PLACE.parent)
    assert kept(tmp_path) == {}


def test_place_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where there is no room for a folder, there is no cache; a note for those who look for it says so."""
    (tmp_path / PLACE.parent).write_text("a file")
    with caplog.at_level(logging.DEBUG):
        with Cache.open(tmp_path) as cache:
            cache.table("key").put("a", 1)
            assert cache.table("key").get("a") == 1
        assert kept(tmp_path) == {}
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
    assert "not kept" in caplog.text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_is_read_only(tmp_path: Path) -> None:
    """What is there is used, and nothing is added."""
    keep(tmp_path)
    (tmp_path / PLACE).chmod(0o500)
    keep(tmp_path, c=3)
    keep(tmp_path, "other", c=3)
    assert kept(tmp_path, "key", "a", "c") == {"a": ENTRIES["a"]}
    (tmp_path / PLACE).chmod(0o700)


def test_full_disk(tmp_path: Path) -> None:
    """Where the last bytes do not fit, what was there stays, and nothing is left over."""
    file = keep(tmp_path)
    before = (file.read_bytes(), files(tmp_path))
    script = (
        "import random, resource; from pathlib import Path; from pelican_resourcesync.site.cache import Cache\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "with Cache.open(Path('.')) as cache:\n"
        "    assert cache.table('key').get('a')\n"
        "    cache.table('key').put('c', [random.random() for _ in range(1000)])\n"
    )
    run(script, tmp_path)
    assert (file.read_bytes(), files(tmp_path)) == before
    assert kept(tmp_path, "key", "a", "c") == {"a": ENTRIES["a"]}


def test_builds_at_once(tmp_path: Path) -> None:
    """Each finds the whole of what one of them wrote, and none an error."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    processes = [subprocess.Popen([*command, letter], env=environment) for letter in "abc"]
    assert [process.wait() for process in processes] == [0, 0, 0]
    found = Cache.open(tmp_path).table("shared").all()
    assert found.keys() == set(map(str, range(50)))
    assert set(found.values()) in ({"a"}, {"b"}, {"c"})
    assert not any(name.startswith("new-") for name in files(tmp_path))


def test_git_does_not_see_it(site: Site) -> None:
    """The cache is nobody's to commit: it says so itself."""
    site.commit("2024-01-01T10:00:00Z")
    keep(site.folder)
    assert site.git("status", "--porcelain", "--untracked-files=all") == ""
    ignoring = site.folder / PLACE / ".gitignore"
    assert ignoring.read_text() == "*\n"
    ignoring.write_text("*\n# and I know why\n")
    keep(site.folder, c=1)
    assert ignoring.read_text() == "*\n# and I know why\n"


def test_nothing_new_is_not_written(tmp_path: Path) -> None:
    """A build that learns nothing leaves the folder alone: something may watch it."""
    with Cache.open(tmp_path) as cache:
        cache.table("key").get("a")
    assert not (tmp_path / PLACE.parent).exists()
    keep(tmp_path)
    before = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in (tmp_path / PLACE).iterdir()}
    with Cache.open(tmp_path) as cache:
        cache.table("key").get("a")
        cache.table("other").get("a")
    assert {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in (tmp_path / PLACE).iterdir()} == before


def test_written_once(tmp_path: Path) -> None:
    """What was written is not written again where a cache is closed twice; what came after the first time is."""
    cache = Cache.open(tmp_path)
    cache.table("key").put("a", 1)
    cache.close()
    shutil.rmtree(tmp_path / PLACE)
    cache.close()
    assert not (tmp_path / PLACE).exists()
    cache.table("key").put("b", 2)
    cache.close()
    assert kept(tmp_path) == {"a": 1, "b": 2}


def test_what_is_no_json_is_left_out(tmp_path: Path) -> None:
    """What cannot come back the same is not kept; the rest of the table is."""
    deep: Json = []
    for _ in range(10**5):
        deep = [deep]
    keep(tmp_path, a=1, b=float("nan"), c=float("inf"), d=deep, e={1, 2}, f=10**5000)  # type: ignore[arg-type]
    assert kept(tmp_path, "key", *"abcdef") == {"a": 1}
    while isinstance(deep, list) and deep:
        deep = deep.pop()  # one by one, as its end would need as deep a stack


def test_unused_tables_are_forgotten(tmp_path: Path) -> None:
    """Beside the tables of this build, the sixteen that were used last are kept."""
    for number in range(20):
        age(keep(tmp_path, str(number)), 100 - number)
    assert [number for number in range(20) if kept(tmp_path, str(number))] == [*range(3, 20)]
    with Cache.open(tmp_path) as cache:
        cache.table("3").get("a")
        cache.table("new").put("a", 1)
    keep(tmp_path, "newer")
    assert [number for number in range(20) if kept(tmp_path, str(number))] == [3, *range(6, 20)]
    assert len(files(tmp_path)) == len(["newer"]) + 16 + len([".gitignore"])


def test_use_keeps_a_table(tmp_path: Path) -> None:
    """What is used is remembered as used, also where nothing was added to it."""
    file = keep(tmp_path)
    age(file, 48)
    with Cache.open(tmp_path) as cache:
        cache.table("key").get("a")
    assert time.time() - file.stat().st_mtime < 60


def test_cache_does_not_grow_without_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is more than may be, the tables that were used longest ago go first."""
    sizes = []
    for number in range(5):
        file = keep(tmp_path, str(number), a=[number] * 100)
        age(file, 10 - number)
        sizes.append(file.stat().st_size)
    monkeypatch.setattr(module, "_MOST_FILES", sum(sizes[-3:]))
    keep(tmp_path, "4", a=[4] * 100)
    assert [number for number in range(5) if kept(tmp_path, str(number))] == [2, 3, 4]


def test_table_does_not_grow_without_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that has become too big keeps what was used; one that is so for one build alone is not written."""
    keep(tmp_path, **{name: name * 500 for name in "abc"})
    monkeypatch.setattr(module, "_MOST_DATA", 1700)
    with Cache.open(tmp_path) as cache:
        cache.table("key").get("a")
        cache.table("key").get("b")
        cache.table("key").put("d", "d" * 500)
    assert kept(tmp_path, "key", *"abcd").keys() == {"a", "b", "d"}
    keep(tmp_path, e="e" * 5000)
    assert kept(tmp_path, "key", *"abcde").keys() == {"a", "b", "d"}


def test_what_killed_builds_left_is_removed(tmp_path: Path) -> None:
    """A file that was never finished goes after a day, when its build is surely dead; files of others stay."""
    keep(tmp_path)
    for name, hours in (("new-old", 25), ("new-young", 1), ("notes", 9999)):
        (tmp_path / PLACE / name).write_text(name)
        age(tmp_path / PLACE / name, hours)
    keep(tmp_path, c=1)
    assert files(tmp_path) - {".gitignore"} == {"new-young", "notes", f"{module._digest('key')}.table"}


def test_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that is to keep nothing works for one build."""
    monkeypatch.chdir(tmp_path)
    with Cache(None) as cache:
        cache.table("key").put("a", 1)
        assert cache.table("key").get("a") == 1
    assert list(tmp_path.iterdir()) == []


def test_table_is_plain_text_in_a_wrapping(tmp_path: Path) -> None:
    """What is kept can be looked at with the tools of everyone: a line, then JSON as zlib packs it."""
    head, _, body = keep(tmp_path).read_bytes().partition(b"\n")
    assert head.split()[0] == b"resourcesync-cache"
    assert json.loads(zlib.decompress(body)) == ENTRIES

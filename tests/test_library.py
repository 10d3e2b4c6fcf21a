"""The package as a library: what `import pelican_resourcesync` has, when it is loaded, and its types."""

import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import pytest

import pelican_resourcesync
from pelican_resourcesync import ResourceSyncError, TransportError, check, follow, mirror, publish
from tests.kit.sources import fake_source, files_of

PROGRAM = """
from pathlib import Path

from pelican_resourcesync import IncompleteError, ResourceSyncError, check, follow, mirror, publish


def synchronize(source: str, folder: Path, cursor: str | None) -> str | None:
    try:
        result = mirror(source, folder, only=["*.pdf"], keep=3, atomic=True, max_size=2_000_000, rate="2MB")
        print(result.complete, result.fetched, [uri for uri, reason in result.missing])
        for change in follow(source, cursor, by="lists", user="me:secret"):
            print(change.kind, change.uri, change.content.read() if change.content else b"")
            cursor = change.cursor
    except IncompleteError as error:
        print("the next run goes on:", error)
    except ResourceSyncError as error:
        print(source, "cannot be used:", error)
    published = publish(folder, base_url="https://copy.example")
    report = check(str(folder), deep=True, edition=2017, ignore=["DI01"])
    print(published.publications["site"].resources, report.conforming)
    return cursor
"""


def types_of(program: Path, text: str) -> str:
    """Return what `mypy --strict` says of a program of somebody else."""
    program.write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(program.parent / "cache"), str(program)]
    done = subprocess.run(command, cwd=program.parent, check=False, capture_output=True, encoding="utf-8")
    return done.stdout + done.stderr


def python_of(page: str) -> list[str]:
    """Return the programs that a page of the docs shows."""
    text = (Path(__file__).parents[1] / "docs" / f"{page}.md").read_text("utf-8")
    return [part.partition("```")[0] for part in text.split("```python")[1:]]


def test_types(tmp_path: Path) -> None:
    """A program that uses the four functions has types, as those in the docs, and mypy finds what is wrong in it."""
    program = tmp_path / "program.py"
    assert types_of(program, PROGRAM) == "Success: no issues found in 1 source file\n"
    wrong = PROGRAM.replace("keep=3", 'keep="three"').replace("result.fetched", "result.nothing")
    wrong = f"from pelican_resourcesync import nothing\n{wrong}"
    wrong = wrong.replace("deep=True", "depp=True").replace("published.publications", "published.others")
    found = types_of(program, wrong)
    assert 'Argument "keep" to "mirror" has incompatible type "str"; expected "int"' in found
    assert '"MirrorResult" has no attribute "nothing"' in found
    assert '"PublishResult" has no attribute "others"' in found
    assert 'Module "pelican_resourcesync" has no attribute "nothing"' in found
    assert 'Unexpected keyword argument "depp" for "check"' in found
    [follower] = [text for text in python_of("follow") if "change.content.read()" in text]
    follower = follower.replace("since=None", "content=True")
    wrong = follower.replace('change.kind == "deleted"', 'change.kind == "other"')
    assert 'Item "None" of "BinaryIO | None" has no attribute "read"' in types_of(program, wrong)
    for text in (follower, *python_of("follow"), *python_of("api")):
        assert types_of(program, text).startswith("Success")


def test_it_says_that_it_has_types() -> None:
    """As type checkers look for it."""
    assert files("pelican_resourcesync").joinpath("py.typed").is_file()


def run(code: str) -> str:
    """Run a line of Python in a process of its own; return what it prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8").stdout


def test_a_build_pays_for_nothing() -> None:
    """Importing the package, as Pelican does, loads the version and nothing else; each name loads what it needs."""
    ours = "sorted(each for each in sys.modules if each.startswith('pelican_resourcesync') or each in ('lxml', 'git'))"
    assert run(f"import sys, pelican_resourcesync; print({ours})") == (
        "['pelican_resourcesync', 'pelican_resourcesync.version']\n"
    )
    loaded = run(f"import sys; from pelican_resourcesync import follow, check; print({ours})")
    assert "pelican_resourcesync.destination" in loaded
    assert "git" not in loaded
    assert "pelican_resourcesync.publication" not in loaded


@pytest.mark.parametrize(
    "code",
    [
        "import pelican_resourcesync.checker; from pelican_resourcesync import check",
        "from pelican_resourcesync import check; import pelican_resourcesync.checker",
        "import pelican_resourcesync.commands.check; from pelican_resourcesync import check",
        "import pelican_resourcesync.destination.mirroring; from pelican_resourcesync import mirror as check",
        "from pelican_resourcesync import mirror as check; import pelican_resourcesync.destination.mirroring",
    ],
)
def test_both_orders_of_import(code: str) -> None:
    """A function never hides behind a module of its name, nor a module behind a function."""
    assert run(f"{code}; print(type(check).__name__)") == "function\n"


def test_names() -> None:
    """All names are there, and no others; pkgutil, help() and the like may ask for any."""
    assert {name for name in pelican_resourcesync.__all__ if not hasattr(pelican_resourcesync, name)} == set()
    assert not hasattr(pelican_resourcesync, "Path")
    with pytest.raises(AttributeError, match="module 'pelican_resourcesync' has no attribute 'nothing'"):
        _ = pelican_resourcesync.nothing  # type: ignore[attr-defined]  # on purpose


def errors() -> Iterator[type[ResourceSyncError]]:
    """Yield the errors of all modules that the functions use."""
    for each in pkgutil.walk_packages(pelican_resourcesync.__path__, "pelican_resourcesync."):
        if not each.name.endswith("__main__"):
            import_module(each.name)
    left = [ResourceSyncError]
    while left:
        left += left.pop().__subclasses__()
        yield from left[-1:]


def test_every_error_can_be_named() -> None:
    """An error that a function raises is exported, or is one of an exported error other than the root."""
    exported = {getattr(pelican_resourcesync, name) for name in pelican_resourcesync.__all__ if name.endswith("Error")}
    ours = {each for each in errors() if each.__module__.startswith("pelican_resourcesync")}
    hidden = {each.__name__ for each in ours if not exported.intersection(each.__mro__) - {ResourceSyncError}}
    # The first ends only the command `announce`, the last a program; the second is always turned into a
    # PublicationError.
    assert hidden == {"NotAnnouncedError", "DamagedError", "StoppedError"}


def test_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is published, copied, followed and checked."""
    for name in ("CI", "CONTEXT", "PULL_REQUEST", "GITHUB_EVENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    (site / "a.txt").write_text("one")
    assert publish(site, base_url="https://a.example").publications["site"].resources == 1
    result = mirror(str(site), "copy", only=["*.txt"])
    assert (result.complete, result.fetched, files_of(tmp_path / "copy")) == (True, 1, {"a.txt": b"one"})
    [change] = follow(str(site))
    assert (change.kind, change.uri) == ("created", "https://a.example/a.txt")
    assert [*follow(str(site), since=change.cursor)] == []
    assert check(str(site), deep=True, ignore=["DI01"]).conforming
    (tmp_path / "resourcesync.toml").write_text("enabled = false")
    assert publish(site, base_url="https://a.example").hints == [
        "nothing is published, because the setting 'enabled' is false"
    ]


def test_a_host_that_fails() -> None:
    """It raises an error that the package exports."""
    with fake_source({"a.html": "one"}) as source:
        address = source.url
    with pytest.raises(TransportError, match=f"^{address}: Connection refused$"):
        list(follow(address, retries=0))


def test_names_that_not_every_system_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is copied and followed, whatever its files are called, as it is from its host."""
    names = ["a:b.txt", 'a"b.txt', "a<b>.txt", "a?b.txt", "a\\b.txt", "c:d/e?f/g.txt", "?", "a%2Fb|*.txt"]
    monkeypatch.chdir(tmp_path)
    for name in names:
        file = tmp_path / "site" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    publish("site", base_url="https://a.example/sub")
    assert {change.content.read().decode() for change in follow("site") if change.content} == set(names)
    result = mirror("site", "copy", by="lists")
    assert (result.complete, result.missing) == (True, [])
    assert {data.decode() for data in files_of(tmp_path / "copy").values()} == set(names)

"""What is released: the metadata, the files of the packages, and the links of the page on PyPI."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from trove_classifiers import classifiers

from pelican_resourcesync.version import __version__
from tests.kit.sites import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
HOME = PROJECT["project"]["urls"]["Homepage"]


def build(kind: str, source: Path, folder: Path) -> Path:
    """Build an sdist or a wheel of a source tree, and return it."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)], cwd=source, check=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of the wheel that is built from this folder."""
    return members(build("wheel", ROOT, tmp_path_factory.mktemp("wheel")))


def members(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_the_metadata() -> None:
    """The addresses are at one home, the classifiers exist, and extras are for users, not for developers."""
    project = PROJECT["project"]
    assert [*project["urls"]] == ["Homepage", "Documentation", "Source", "Changelog", "Issues"]
    assert all(url.startswith(HOME) for url in project["urls"].values())
    assert set(project["classifiers"]) <= classifiers
    assert not {"Operating System :: OS Independent"} & set(project["classifiers"])
    assert not {"test", "docs"} & project["optional-dependencies"].keys()
    assert PROJECT["dependency-groups"].keys() == {"test", "docs", "release"}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.findall("^EXTRAS := (.*)", makefile, re.MULTILINE) == [",".join(sorted(project["optional-dependencies"]))]


def tracked() -> set[str]:
    """Return the tracked files of both packages."""
    command = ["git", "ls-files", "pelican_resourcesync", "repo_bridge"]
    return {*subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout.split()}


def test_one_home() -> None:
    """Wherever the repository is named, it is at the same address."""
    pattern = "github.com/[^/ ]+/pelican-resourcesync|[^/ ]+/pelican-resourcesync@v[0-9]"
    command = ["git", "grep", "-h", "-o", "-E", pattern, "--", ":!tests"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout.split()
    assert len(found) > 30
    assert {name.removeprefix("github.com/").partition("@")[0] for name in found} == {
        HOME.removeprefix("https://github.com/")
    }


def test_the_version() -> None:
    """The changes of this version are the first in their page, and a citation names it."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## (\S+)(?: - \d{4}-\d\d-\d\d)?$", text, re.MULTILINE)
    assert versions[0] == __version__
    assert len(versions) == text.count("\n## ")
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_wheel(wheel: dict[str, bytes]) -> None:
    """It has the tracked files of both packages, one of them where Pelican looks for plug-ins, and no others."""
    files = {name for name in wheel if ".dist-info/" not in name}
    moved = {"pelican_resourcesync/namespace.py": "pelican/plugins/resourcesync/__init__.py"}
    assert files == tracked() - moved.keys() | {*moved.values()}


def test_the_sdist(wheel: dict[str, bytes], tmp_path: Path) -> None:
    """The same wheel can be built from it, byte for byte, and it has nothing else."""
    sdist = build("sdist", ROOT, tmp_path / "built")
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        opened.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert members(build("wheel", source, tmp_path / "wheel")) == wheel
    assert names == {*tracked(), "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore"}


def test_the_page_on_pypi() -> None:
    """Each link of the README is absolute, since PyPI has no other file; those to this repository exist."""
    text = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 30
    assert [link for link in links if not link.startswith("https://")] == []
    headings = {
        f"#{re.sub(r'[^a-z ]', '', line.lower()).strip().replace(' ', '-')}"
        for line in text.splitlines()
        if line[:1] == "#"
    }
    pictures = HOME.replace("github.com", "raw.githubusercontent.com")
    for link in links:
        for base in (f"{HOME}/blob/main/", f"{pictures}/main/"):
            if link.startswith(base):
                assert (ROOT / link.removeprefix(base).partition("#")[0]).is_file(), link
        if link.startswith(f"{HOME}#"):
            assert link.removeprefix(HOME) in headings, link


@pytest.mark.parametrize("target", ["demo", "test", "coverage", "check", "bench", "docs", "lowest", "release-check"])
def test_what_make_runs_can_be_parsed(target: str) -> None:
    """A comma in an argument of `call`, for example, cuts a command off."""
    commands = subprocess.run(
        ["make", "-nB", target], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout
    assert "pip install" in commands
    assert subprocess.run(["sh", "-n"], input=commands, encoding="utf-8", capture_output=True, check=False).stderr == ""

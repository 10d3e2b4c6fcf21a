"""The recipes of the documentation, with the real MkDocs and Sphinx: an edit, a rename and a removal between builds."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.kit.folders import URL, Folder
from tests.kit.live import files, hosts, live
from tests.kit.sites import ROOT, our_command

EXAMPLES = ROOT / "docs" / "examples"
PAGES = {"index": "Home", "edited": "Before", "named": "The same", "removed": "Gone soon", "kept": "Kept"}


def mkdocs(folder: Path, url: str) -> list[str]:
    """Write what MkDocs needs, and return its command."""
    shutil.copy(EXAMPLES / "mkdocs_hook.py", folder)
    text = f"site_name: Manual\nsite_url: {url}/\nsite_dir: public\ndocs_dir: pages\nhooks: [mkdocs_hook.py]\n"
    (folder / "mkdocs.yml").write_text(text)
    return ["mkdocs", "build", "--quiet"]


def sphinx(folder: Path, url: str) -> list[str]:
    """Write what Sphinx needs, and return its command."""
    (folder / "pages").mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "sphinx_extension.py", folder)
    text = f"extensions = ['sphinx_extension']\nhtml_baseurl = '{url}'\nproject = 'Manual'\n"
    (folder / "pages" / "conf.py").write_text(text)
    return ["sphinx", "-q", "-b", "html", "pages", "public"]


def write(folder: Path, pages: dict[str, str], suffix: str) -> None:
    """Write the sources of these pages alone."""
    (folder / "pages").mkdir(exist_ok=True)
    for old in (folder / "pages").glob(f"*{suffix}"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        file = folder / "pages" / f"{name}{suffix}"
        toc = "\n\n.. toctree::\n   :glob:\n\n   *\n" if suffix == ".rst" and name == "index" else "\n"
        data = f"{name.title()}\n{'=' * 20}\n\n{text}{toc}"
        if not file.is_file() or file.read_text() != data:
            file.write_text(data)


@pytest.mark.promise("Any folder")
@pytest.mark.parametrize(("prepare", "suffix"), [(mkdocs, ".md"), (sphinx, ".rst")], ids=["mkdocs", "sphinx"])
def test_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path, str], list[str]], suffix: str
) -> None:
    """Each build starts afresh, as in CI: it lists what the bytes say, conforms, and a mirror of the first follows."""
    folder, www = Folder(tmp_path), tmp_path / "www"
    folder.configure("allow_deletions = true", "live")
    command = [sys.executable, "-m", *prepare(tmp_path, URL)]
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def build(pages: dict[str, str]) -> dict[str, bytes]:
        write(tmp_path, pages, suffix)
        for each in (folder.public, www):
            shutil.rmtree(each, ignore_errors=True)
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, check=False, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stderr
        assert "ResourceSync: " in done.stdout
        shutil.copytree(folder.public, www)
        assert "conforming: 0 errors, 0 warnings" in our_command(tmp_path, "check", "www", "--deep").stdout
        our_command(tmp_path, "mirror", "www", "copy")
        return {path: (www / file_of(path)).read_bytes() for path in folder.listed()}

    with live(hosts({URL: files(tmp_path / "live")}), proxy=True) as host:
        environment = {**os.environ, "PATH": programs, "NO_MKDOCS_2_WARNING": "1", "http_proxy": host.url}
        environment.pop("no_proxy", None)
        before = build(PAGES)
        shutil.copytree(www, tmp_path / "live")
        after = build({"index": "Home", "edited": "After", "renamed": "The same", "kept": "Kept"})
    kinds = {path: kind for _, kind, path in folder.changes()}
    assert kinds == {
        **dict.fromkeys(after.keys() - before.keys(), "created"),
        **dict.fromkeys(before.keys() - after.keys(), "deleted"),
        **{path: "updated" for path in after.keys() & before.keys() if after[path] != before[path]},
    }
    page = "{}/" if suffix == ".md" else "{}.html"
    expected = {"edited": "updated", "renamed": "created", "named": "deleted", "removed": "deleted"}
    assert {name: kinds.get(page.format(name)) for name in expected} == expected
    copied = tmp_path / "copy"
    found = {each.relative_to(copied).as_posix(): each.read_bytes() for each in copied.rglob("*") if each.is_file()}
    assert {path: data for path, data in found.items() if not path.startswith(".")} == {
        file_of(path): data for path, data in after.items()
    }


def file_of(path: str) -> str:
    """Return the file of a URL's path."""
    path = unquote(path)
    return f"{path}index.html" if not path or path.endswith("/") else path

"""The wheel in environments of its own, installed as the docs say, first without any extra: `make bare`."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kit.hub import Hub
from tests.kit.live import files, live
from tests.kit.sites import ROOT
from tests.test_release import build

PAGES = [
    ROOT / name for name in ("README.md", *(f"docs/{page}.md" for page in ("README", "any-site", "hugo", "mkdocs")))
]
TOOLS = Path(sys.executable).parent


@dataclass(frozen=True)
class Environment:
    """Where `programs` are installed, and the variables that they are run with."""

    programs: Path
    variables: Mapping[str, str]

    def run(self, command: str | Sequence[str], folder: Path, status: int = 0) -> str:
        """Run a program of this environment, or else of the system; return what it printed."""
        words = shlex.split(command) if isinstance(command, str) else command
        path = os.pathsep.join([str(self.programs), str(TOOLS), self.variables["PATH"]])
        found = next((each for each in (self.programs / words[0], TOOLS / words[0]) if each.is_file()), words[0])
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [str(found), *words[1:]], cwd=folder, env={**self.variables, "PATH": path}, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == status, done.stdout
        return done.stdout

    def modules(self, folder: Path) -> list[str]:
        """Return the names of all installed packages."""
        code = "import importlib.metadata as m; print(*{each.name.lower() for each in m.distributions()})"
        return sorted(self.run(["python", "-c", code], folder).split())


def documented(beginning: str, wheel: Path) -> str:
    """Return the one command of the docs that begins so, with the wheel in place of what is not released yet."""
    lines = "\n".join(page.read_text("utf-8") for page in PAGES).splitlines()
    found = {line.removeprefix("    ").removeprefix("$ ") for line in lines if line.startswith("    ")}
    (command,) = {line for line in found if f"{line} ".startswith(f"{beginning} ")}
    if beginning.startswith("uvx"):
        return command.replace("uvx", f"uvx --from {wheel}")
    return command.replace("pelican-resourcesync", str(wheel))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this folder."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables that installers and programs may see: nothing leads to this checkout."""
    home = tmp_path_factory.mktemp("home")
    ours = {"PIPX_HOME": f"{home}/pipx", "PIPX_BIN_DIR": f"{home}/bin", "PIPX_DEFAULT_PYTHON": sys.executable}
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | ours


@pytest.fixture(scope="module")
def plain(wheel: Path, variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Install the program as the docs say, for any generator but Pelican."""
    folder = tmp_path_factory.mktemp("plain")
    Environment(TOOLS, variables).run(documented("pipx install pelican-resourcesync", wheel), folder)
    return Environment(Path(variables["PIPX_HOME"], "venvs/pelican-resourcesync/bin"), variables)


def write_site(folder: Path, **pages: str) -> None:
    """Write pages into the folder `public`."""
    (folder / "public").mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / "public" / f"{name}.html").write_text(f"<title>{name}</title><p>{text}", "utf-8")


def test_packages(plain: Environment, tmp_path: Path) -> None:
    """What is imported is installed, and what that needs; `pelican` can be imported, and is our own folder."""
    packages = plain.modules(tmp_path)
    imported = ["gitpython", "jinja2", "lxml", "markupsafe", "pelican-resourcesync", "rich", "urllib3"]
    needed = ["gitdb", "markdown-it-py", "mdurl", "pygments", "smmap"]
    assert [each for each in packages if each not in ("pip", "setuptools")] == sorted(imported + needed)
    code = "import pelican.plugins as p, pelican_resourcesync as ours; print(*p.__path__, ours.__file__)"
    paths = plain.run(["python", "-c", code], tmp_path).split()
    assert all(path.startswith(str(plain.programs.parent)) for path in paths), paths


def test_a_site(plain: Environment, tmp_path: Path) -> None:
    """It is published, checked, shown, mirrored, followed, announced, and forgotten in part."""
    hub = Hub()
    with live(files(tmp_path / "public")) as site, live(hub) as host:
        (tmp_path / "resourcesync.toml").write_text(
            f'folder = "public"\nbase_url = "{site.url}"\nhubs = ["{host.url}/hub"]\n', "utf-8"
        )
        write_site(tmp_path, a="one", b="two")
        assert "2 resources, 0 changes" in plain.run("pelican-resourcesync publish", tmp_path)
        assert "conforming: 0 errors" in plain.run("pelican-resourcesync check public", tmp_path)
        assert f"{site.url}/resourcesync/" in plain.run("pelican-resourcesync show public", tmp_path)
        assert "copy has 2 resources; 2 fetched" in plain.run(f"pelican-resourcesync mirror {site.url} copy", tmp_path)
        follow = f"pelican-resourcesync follow {site.url} --json-lines"
        cursor = [json.loads(line) for line in plain.run(follow, tmp_path).splitlines()][-1]["cursor"]
        write_site(tmp_path, a="changed")
        assert "1 updated (/a.html)" in plain.run("pelican-resourcesync publish", tmp_path)
        (line,) = plain.run([*follow.split(), "--since", cursor], tmp_path).splitlines()
        assert (json.loads(line)["uri"], json.loads(line)["kind"]) == (f"{site.url}/a.html", "updated")
        assert f"Notified {host.url}/hub of changes" in plain.run("pelican-resourcesync announce public", tmp_path)
        assert hub.published
        assert "; 1 fetched" in plain.run(f"pelican-resourcesync mirror {site.url} copy", tmp_path)
        assert "changed" in (tmp_path / "copy/a.html").read_text("utf-8")
        forget = f"pelican-resourcesync forget --output public {site.url}/b.html"
        assert f"Forgotten: {site.url}/b.html" in plain.run(forget, tmp_path)


@pytest.mark.parametrize(
    ("command", "use", "extra"),
    [
        ("backfill", "backfill builds with Pelican, which needs an extra", "pelican"),
        ("show", "show without a TARGET reads Pelican's settings, which needs an extra", "pelican"),
        (
            "forget https://x.example/",
            "forget without --output reads Pelican's settings, which needs an extra",
            "pelican",
        ),
        ("upload public s3://x", "s3://x needs obstore", "cloud"),
        ("key", "signatures need an extra", "sign"),
        ("restore public x.wacz --all-times", "WACZ files need an extra", "wacz"),
    ],
)
def test_what_is_missing(plain: Environment, tmp_path: Path, command: str, use: str, extra: str) -> None:
    """One line says which extra."""
    write_site(tmp_path, a="one")
    plain.run("pelican-resourcesync publish public --base-url http://127.0.0.1:9", tmp_path)
    line = f"pelican-resourcesync: {use}: pip install 'pelican-resourcesync[{extra}]'\n"
    assert plain.run(f"pelican-resourcesync {command}", tmp_path, status=2) == line


def test_without_an_installation(wheel: Path, variables: dict[str, str], tmp_path: Path) -> None:
    """The command of the docs for uv runs as it is."""
    write_site(tmp_path, a="one")
    (tmp_path / "resourcesync.toml").write_text('previous = "output"\n', "utf-8")  # no request leaves this machine
    printed = Environment(TOOLS, variables).run(documented("uvx pelican-resourcesync publish", wheel), tmp_path)
    assert "1 resource, 0 changes in 0 Change Lists at https://manual.example/resourcesync/" in printed


def test_a_pelican_site(wheel: Path, variables: dict[str, str], tmp_path: Path) -> None:
    """With the extra, Pelican finds the plug-in; a Pelican that is too old ends the build with one line."""
    site = Environment(tmp_path / "venv/bin", variables)
    site.run(["python", "-m", "venv", str(tmp_path / "venv")], tmp_path)
    site.run(documented("python -m pip install 'pelican-resourcesync[pelican]'", wheel), tmp_path)
    (tmp_path / "content").mkdir()
    (tmp_path / "content/a.rst").write_text("A\n#\n\n:date: 2024-01-01\n\nText.\n", "utf-8")
    (tmp_path / "pelicanconf.py").write_text(
        "SITEURL, SITENAME, AUTHOR = 'https://museum.example', 'A museum', 'The keeper'\n"
        "PATH, TIMEZONE, THEME, RESOURCESYNC = 'content', 'UTC', 'simple', {'previous': 'output'}\n", "utf-8"
    )  # fmt: skip
    assert " Change Lists at https://museum.example/resourcesync/ in" in site.run("pelican", tmp_path)
    assert "https://museum.example/resourcesync/" in site.run("pelican-resourcesync show", tmp_path)
    before = (tmp_path / "output/resourcesync/publication.json").read_bytes()
    site.run(f"uv pip install --quiet --python {site.programs}/python pelican==4.10.2", tmp_path)
    assert site.run("pelican", tmp_path, status=1) == (
        "ResourceSync: error: Pelican 4.10.2 is too old (4.11 or newer is needed): pip install --upgrade pelican\n"
    )
    assert (tmp_path / "output/resourcesync/publication.json").read_bytes() == before

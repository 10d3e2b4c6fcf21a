"""The README followed literally: its commands are run on the sample site, and print what it shows."""

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.kit.sites import ROOT, Site, import_sample_site, run, run_program, strip, with_stork

README = (ROOT / "README.md").read_text("utf-8")


def sessions() -> list[tuple[list[str], str]]:
    """Return the commands of the README after a `$`, each with what it prints."""
    lines = [line[4:] for line in README.splitlines() if line.startswith("    ")]
    found: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:].split(), []))
        elif found and not line.startswith(("python ", "repo-bridge ", "make ")):
            found[-1][1].append(line)
    return [(command, "\n".join(printed)) for command, printed in found]


def plain(text: str) -> str:
    """Leave out times and line ends, which differ from run to run."""
    return " ".join(re.sub(r"\d+\.\d+ (s\b|seconds)", "N s", text).split())


@pytest.mark.promise("Documented")
def test_the_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    """The sample site is built, checked, mirrored, and mirrored again."""
    site = import_sample_site(tmp_path / "site")
    with (site.folder / "pelicanconf.py").open("a") as conf:
        conf.write("RESOURCESYNC = {'previous': 'output'}\n")  # no request leaves this machine
    for name in ("user.name", "user.email"):
        site.git("config", name, "keeper@museum.example")
    site.git("commit", "-q", "--all", "--amend", "--no-edit", GIT_COMMITTER_DATE="2024-11-05T08:40:00Z")
    commands = sessions()
    assert len(commands) == 5
    for command, printed in commands:
        done = run_program(command[0], site.folder, *command[1:], COLUMNS="80")
        assert done.returncode == 0, done.stderr
        expected = "\n".join(line for line in printed.splitlines() if ": this is the first publication" not in line)
        assert plain(done.stdout) == plain(expected)


@pytest.mark.parametrize("plugins", [None, ["resourcesync", "pelican_resourcesync"]])
def test_pelican_finds_the_plugin_by_itself(site: Site, tmp_path: Path, plugins: list[str] | None) -> None:
    """The wheel puts a module where Pelican looks if `PLUGINS` is not set; loaded twice, it publishes once."""
    mapping = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    for source, target in mapping["force-include"].items():
        (tmp_path / "installed" / target).parent.mkdir(parents=True)
        shutil.copyfile(ROOT / source, tmp_path / "installed" / target)
    strip(site).article("a.md", "A")
    site.configure(PLUGINS=plugins)
    site.commit("2024-01-01T10:00:00Z")
    status, said = run(site, PYTHONPATH=os.pathsep.join([str(ROOT), str(tmp_path / "installed")]), **with_stork(site))
    assert status == 0
    assert len(re.findall(r"ResourceSync: \d+ resources?, .*; first publication\.", said)) == 1


def test_other_plugins_stay(site: Site) -> None:
    """With `PLUGINS` unset and the plug-in installed, those that Pelican finds by itself are loaded as before."""
    address, append = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    site.article("a.md", "A", at="2024-01-01T10:00:00Z")
    for before, after in (("", ""), ("PLUGINS = ['sitemap']\n", append)):
        site.settings.pop("PLUGINS", None)
        site.configure()
        with (site.folder / "pelicanconf.py").open("a") as settings:
            settings.write(before + address + after)
        printed = site.command("--fatal", "errors", environment=with_stork(site)).stdout
        assert "at https://museum.example/resourcesync/ in" in printed
        assert "<loc>https://museum.example/a.html</loc>" in (site.output / "sitemap.xml").read_text()

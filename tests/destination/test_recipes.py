"""The recipes for cron, systemd and Docker Compose, as far as their programs are here."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pelican_resourcesync.cli import parser
from pelican_resourcesync.commands.many import METRICS, read_sources
from tests.kit.sites import ROOT
from tests.kit.sources import fake_source

MIRROR, MANY = ((ROOT / "docs" / name).read_text("utf-8") for name in ("mirror-operation.md", "many.md"))
BIN = Path(sys.executable).parent


def test_cron(tmp_path: Path) -> None:
    """The lines have five fields and a command, which copies the Source and prints nothing that cron would send."""
    lines = re.findall(r"```text\n(.*)\n```", MIRROR)
    times = []
    for number, line in enumerate(lines):
        fields, command = re.fullmatch(r"((?:[\d*]+ ){5}) *(.*)", line).groups()  # type: ignore[union-attr]  # or it fails
        times.append(fields.split())
        assert "%" not in command  # to cron, the end of the command
        folder = tmp_path / str(number)
        folder.mkdir()
        with fake_source({"a.html": "1"}) as source:
            command = command.replace("https://example.org/", source.url).replace("/srv/mirror/venv/bin", str(BIN))
            command = command.replace("/srv/mirror/", f"{folder}/")
            done = subprocess.run(
                ["/bin/sh", "-c", command], check=False, capture_output=True, encoding="utf-8", cwd=ROOT
            )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert (folder / "copy/a.html").read_text() == "1"
    assert times == [["7", "*", "*", "*", "*"], ["30", "3", "*", "*", "*"]]


def units(page: str = MIRROR) -> dict[str, str]:
    """Return the units by name."""
    return dict(re.findall(r"`/etc/systemd/system/([\w@.-]+)`[^`]*:\n\n```ini\n(.*?)```", page, re.DOTALL))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd(tmp_path: Path) -> None:
    """The units are valid, for one of the copies and for all; and no other key would be."""
    assert [*units()] == ["mirror@.service", "mirror@.timer", "mirror-failed@.service"]
    assert [*units(MANY)] == ["mirrors.service", "mirrors.timer"]
    both = units() | units(MANY)
    for name, text in both.items():
        (tmp_path / name).write_text(text.replace("/srv/mirror/venv/bin", str(BIN)), "utf-8")
    names = [str(tmp_path / name.replace("@", "@museum")) for name in both]
    command = ["systemd-analyze", "verify", *names]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "mirror@.timer").open("a") as unit:
        unit.write("Hourly=yes\n")
    assert "Unknown key" in subprocess.run(command, check=False, capture_output=True, encoding="utf-8").stderr


def test_what_systemd_runs(tmp_path: Path) -> None:
    """With the address from the file of its instance, the service copies the Source."""
    (start,) = re.findall(r"^ExecStart=(.*pelican-resourcesync .*)$", units()["mirror@.service"], re.MULTILINE)
    with fake_source({"a.html": "1"}) as source:
        command = start.replace("${SOURCE}", source.url).replace("%i", "museum")
        command = command.replace("/srv/mirror/venv/bin", str(BIN)).replace("/srv/mirror", str(tmp_path))
        subprocess.run(command.split(), check=True, capture_output=True, cwd=ROOT)
    assert (tmp_path / "museum/a.html").read_text() == "1"


def test_what_systemd_runs_for_many(tmp_path: Path) -> None:
    """The service copies all Sources of the file, and writes metrics."""
    (start,) = re.findall(r"^ExecStart=(.*)$", units(MANY)["mirrors.service"], re.MULTILINE)
    with fake_source({"a.html": "1"}) as source:
        (tmp_path / "sources.toml").write_text(f'[sources.a]\nsource = "{source.url}"\nfolder = "a"')
        command = start.replace("/srv/mirror/venv/bin", str(BIN))
        subprocess.run(command.split(), check=True, capture_output=True, cwd=tmp_path)
    assert (tmp_path / "a/a.html").read_text() == "1"
    assert 'status{name="a"} 0\n' in (tmp_path / "mirrors.prom").read_text()


def test_docker_compose_for_many(tmp_path: Path) -> None:
    """Both parts together follow the schema, and their commands are ours and Dask's."""
    parts = re.findall(r"```yaml\n(.*?)```", MANY, re.DOTALL)
    file = tmp_path / "compose.yaml"
    file.write_text("".join(parts), "utf-8")
    command = [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout
    file.write_text("".join(parts).replace("    deploy:", "    deployed:"), "utf-8")
    assert subprocess.run(command, check=False, capture_output=True).returncode == 1
    ours, *dask = [line.split() for line in re.findall(r"command: (.*)", file.read_text("utf-8"))]
    arguments = parser().parse_args(ours[1:])
    assert (arguments.config, arguments.every) == (Path("/srv/sources.toml"), 3600)
    assert [line[:2] for line in dask] == [["dask", "scheduler"], ["dask", "worker"]]
    assert all((BIN / line[0]).exists() for line in (ours, *dask))


def test_table_of_sources(tmp_path: Path) -> None:
    """The example of a file is valid, and has both Sources."""
    (text,) = re.findall(r"```toml\n(.*?)```", MANY, re.DOTALL)
    (tmp_path / "sources.toml").write_text(text, "utf-8")
    arguments = parser().parse_args(["mirror", "--config", str(tmp_path / "sources.toml")])
    museum, library = read_sources(arguments.verb, arguments)
    assert (museum.name, museum.folder, museum.max_run) == ("museum", tmp_path / "copies/museum", 1800)
    assert (library.only, library.keep, library.rate) == (["*/oai_dc/*"], 3, "5")


def test_metrics_of_the_page() -> None:
    """The table has all metrics, and no other."""
    assert re.findall(r"^\| `pelican_resourcesync_mirror_(\w+)` \|", MANY, re.MULTILINE) == [*METRICS]


def test_docker_compose(tmp_path: Path) -> None:
    """The file follows the schema of Compose, and its command is one of ours."""
    (text,) = re.findall(r"```yaml\n(services:.*?)```", MIRROR, re.DOTALL)
    file = tmp_path / "compose.yaml"
    file.write_text(text, "utf-8")
    command = [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout
    file.write_text(text.replace("    command:", "    comand:"), "utf-8")
    assert subprocess.run(command, check=False, capture_output=True).returncode == 1
    (program,) = re.findall(r"command: (.*)", text)
    with fake_source({"a.html": "1"}) as source:
        words = program.replace("https://example.org/", source.url).replace("/srv/", f"{tmp_path}/").split()
        words = [str(BIN / words[0]), *words[1 : words.index("--every")]]
        subprocess.run(words, check=True, capture_output=True, cwd=ROOT)
    assert (tmp_path / "copy/a.html").read_text() == "1"

"""Workflows and actions, ours and those of the docs: valid, pinned, with no permission that they do not need."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from ruamel.yaml import YAML

from pelican_resourcesync.version import __version__
from tests.kit.sites import ROOT
from tests.test_docs import rows
from tests.test_release import HOME

PAGES = sorted((ROOT / "docs/workflows").iterdir())
OURS = sorted((ROOT / ".github/workflows").iterdir())
GITHUB = [*OURS, ROOT / "action.yml", *(page for page in PAGES if page.name.startswith("github-"))]
#: The files that each host reads, by the name of its schema.
SCHEMAS = {
    "github-workflows": [file for file in GITHUB if file.name != "action.yml"],
    "github-actions": [ROOT / "action.yml"],
    "dependabot": [ROOT / ".github/dependabot.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
    "github-issue-config": [ROOT / ".github/ISSUE_TEMPLATE/config.yml"],
    "github-issue-forms": [ROOT / f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("bug", "feature")],
    "gitlab-ci": [page for page in PAGES if page.name.startswith("gitlab-")],
}
#: What each job of ours needs its token for; no other may do anything.
PERMISSIONS = {
    "ci.yml": {name: {"contents": "read"} for name in ("test", "other", "indexes", "workflows")},
    "release.yml": {
        "build": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "pypi": {"id-token": "write"},
        "github": {"contents": "write"},
    },
}
#: What deploys, by the beginning of the name of the file: how it says which folder.
DEPLOYED = {
    "github": r"path: (\S+)",
    "gitlab": r"(?:mv (\S+) public|paths: \[(public)\])",
    "netlify": r'publish = "(.+)"',
}


def read(file: Path) -> Any:
    """Return the content of a YAML file, of YAML 1.2, where `on` is no boolean."""
    return YAML(typ="safe").load(file)


def faults(schema: str, *files: Path) -> str:
    """Return what a schema of a host finds in files, or `""`."""
    done = CliRunner().invoke(check_jsonschema, ["--builtin-schema", f"vendor.{schema}", *map(str, files)])
    return done.output if done.exit_code else ""


def audit(*files: Path) -> set[str]:
    """Return the names of the weaknesses that zizmor finds."""
    command = [
        str(Path(sys.executable).with_name("zizmor")),
        "--offline",
        "--no-config",
        "--no-progress",
        "--format=plain",
    ]
    done = subprocess.run([*command, *map(str, files)], check=False, capture_output=True, encoding="utf-8")
    found = {*re.findall(r"^(?:help|info|warning|error)\[([\w-]+)\]", done.stdout, re.MULTILINE)}
    assert bool(found) == bool(done.returncode), done.stdout + done.stderr
    return found


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas(schema: str, tmp_path: Path) -> None:
    """Each file follows the schema of its host, and a misspelled key is found."""
    assert faults(schema, *SCHEMAS[schema]) == ""
    key = r"^( *)(jobs|script|runs|updates|contact_links|body|authors):"
    wrong = re.sub(key, r"\1wrong:", SCHEMAS[schema][0].read_text("utf-8"), flags=re.MULTILINE)
    (tmp_path / "wrong.yml").write_text(wrong)
    assert faults(schema, tmp_path / "wrong.yml")


def test_nothing_is_found_in_workflows(tmp_path: Path) -> None:
    """Zizmor, which knows the ways to attack a workflow, finds none in ours, and three in one that was weakened."""
    assert audit(*GITHUB, ROOT / ".github/dependabot.yml") == set()
    weak = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    for safe, unsafe in (
        ("persist-credentials: false", "fetch-depth: 1"),
        ("@1e69f48acb82d1966a394da916b4c1698aa569d6", "@v4"),
        ("${GITHUB_REF_NAME}", "${{ github.ref_name }}"),
    ):
        assert safe in weak
        weak = weak.replace(safe, unsafe)
    (tmp_path / "weak.yml").write_text(weak)
    assert audit(tmp_path / "weak.yml") == {"artipacked", "unpinned-uses", "template-injection"}


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.name)
def test_permissions_of_ours(file: Path) -> None:
    """Each job has what it needs; those that write run no code but that of actions and of GitHub's own program."""
    content = read(file)
    assert content["permissions"] == {}
    assert {name: job["permissions"] for name, job in content["jobs"].items()} == PERMISSIONS[file.name]
    for job in content["jobs"].values():
        if "write" in job["permissions"].values():
            assert all(step.get("run", "gh ").startswith("gh ") for step in job["steps"])


def pins() -> dict[str, set[tuple[str, str]]]:
    """Return each action that is used anywhere, with the commits and versions that it is pinned to."""
    found: dict[str, set[tuple[str, str]]] = {}
    for file in (*GITHUB, *(ROOT / "docs").glob("*.md")):
        for action, commit, version in re.findall(r"uses: ([^@\s]+)@(\S+)(?:  # (\S+))?", file.read_text("utf-8")):
            found.setdefault(action, set()).add((commit, version))
    return found


def test_pins() -> None:
    """Every action is pinned to a commit, with its version, and to the same one everywhere; our own, to our version."""
    found = pins()
    assert found.pop(HOME.removeprefix("https://github.com/")) == {(f"v{__version__}", "")}
    assert len(found) >= 10
    for action, pinned in found.items():
        ((commit, version),) = pinned
        assert re.fullmatch("[0-9a-f]{40}", commit), action
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), action


@pytest.mark.promise("Documented")
@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_whole_workflows(file: Path) -> None:
    """Each file of the docs builds, publishes what it built, deploys that, and is in the table."""
    host, _, generator = file.stem.partition("-")
    text = file.read_text("utf-8")
    if host == "netlify":
        content = tomllib.loads(text)
        assert content.keys() == {"build"}
        assert content["build"].keys() == {"command", "publish", "environment", "processing"}
    deployed = next(filter(None, (match for found in re.finditer(DEPLOYED[host], text) for match in found.groups())))
    if generator == "pelican":
        assert f"pelican content -s publishconf.py -o {deployed}\n" in text.replace("'", "").replace("public", deployed)
    else:
        url = "$URL" if host == "netlify" else "https://manual.example"
        run = {"github": "pipx run ", "gitlab": "/opt/resourcesync/bin/", "netlify": "/tmp/resourcesync/bin/"}[host]
        assert f"{run}pelican-resourcesync publish {deployed} --base-url {url}" in text
        # The generator's own Python gets nothing of ours: what it needs may be something else.
        installed = re.findall(r"([^\s']*)pip install [^&\n]*pelican-resourcesync", text)
        assert installed == ([] if host == "github" else [run])
    assert f"(workflows/{file.name})" in (ROOT / "docs/workflows.md").read_text("utf-8")


@pytest.mark.parametrize("file", [file for file in GITHUB if file in PAGES], ids=lambda file: file.name)
def test_what_can_deploy_runs_nothing_else(file: Path) -> None:
    """The job that builds can only read, and one step of it sees the signing key; the other job deploys."""
    content = read(file)
    build, deploy = content["jobs"]["build"], content["jobs"]["deploy"]
    assert (content["permissions"], [*content["jobs"]]) == ({}, ["build", "deploy"])
    assert build["permissions"] == {"contents": "read"}
    assert deploy["permissions"] == {"pages": "write", "id-token": "write"}
    assert [step["uses"].partition("@")[0] for step in deploy["steps"]] == ["actions/deploy-pages"]
    assert build["steps"][0]["with"]["persist-credentials"] is False
    (publishing,) = [step["run"] for step in build["steps"] if "RESOURCESYNC_SIGNING_KEY" in step.get("env", {})]
    assert re.match("(pipx run pelican-resourcesync publish|pelican) ", publishing)
    assert file.read_text("utf-8").count("secrets.") == 1


def blocks(page: str) -> list[str]:
    """Return the examples of YAML in a page of the docs."""
    return re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / page).read_text("utf-8"), re.DOTALL)


def test_workflows_inside_pages(tmp_path: Path) -> None:
    """The workflow that checks is valid, and that of a site with the job that announces; inputs of steps exist."""
    (checking,) = blocks("check.md")
    *_, announcing = blocks("hosts.md")
    whole = tmp_path / "whole.yml"
    # The commit of a release of ours is not known when its docs are written.
    for text, found in (
        (checking, {"unpinned-uses"}),
        ((ROOT / "docs/workflows/github-hugo.yml").read_text("utf-8") + announcing, set()),
    ):
        whole.write_text(text)
        assert (faults("github-workflows", whole), audit(whole)) == ("", found)
    inputs = read(ROOT / "action.yml")["inputs"].keys()
    for block in (*blocks("workflows.md")[:2], checking):
        assert {*re.findall(r"^ +([a-z-]+): ", block.partition("with:\n")[2], re.MULTILINE)} <= inputs


def test_inputs_of_the_action() -> None:
    """The docs have each input with its default."""
    inputs = read(ROOT / "action.yml")["inputs"]
    table = [[cell.strip("`") for cell in cells[:2]] for cells in rows((ROOT / "docs/workflows.md").read_text("utf-8"))]
    assert [name for name, _ in table] == [*inputs]
    assert {name: default for name, default in table if "default" in inputs[name] and name != "base-url"} == {
        "command": "publish",
        "version": (version := f"pelican-resourcesync=={__version__}"),
    }
    assert (inputs["command"]["default"], inputs["version"]["default"]) == ("publish", version)


def test_the_script_of_the_action(tmp_path: Path) -> None:
    """Its script publishes a folder, announces it and checks it, and says what else it cannot do."""
    script = read(ROOT / "action.yml")["runs"]["steps"][1]["run"]
    script = re.sub(r".* -m (venv|pip) .*", "", script)
    (tmp_path / "resourcesync/bin").mkdir(parents=True)
    (tmp_path / "resourcesync/bin/pelican-resourcesync").symlink_to(
        Path(sys.executable).with_name("pelican-resourcesync")
    )
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "index.html").write_text("<html><head></head></html>")
    inputs = {"TARGET": "public", "BASE_URL": "http://127.0.0.1:9", "VERSION": "x"}
    for command, status, printed in (
        ("publish", 0, "1 resource, "),
        ("announce", 0, "Nothing to announce: this is the first publication"),
        ("check", 0, "public: conforming: 0 errors"),
        ("remove", 2, "The input command is publish, announce or check, not 'remove'"),
    ):
        environment = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), **inputs, "COMMAND": command}
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=tmp_path,
            env=environment,
            check=False,
            capture_output=True,
            encoding="utf-8",
        )
        assert (done.returncode, printed in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr

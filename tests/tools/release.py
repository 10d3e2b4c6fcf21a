"""A dry run of a release, all but the upload: `make release-check`.

Builds both packages, checks how PyPI will show them, installs the wheel into a fresh environment for each extra,
and runs the commands of the README there. Writes the packages into `dist`, and what they install into `sbom.cdx.json`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile

from sample_site.demo import import_site
from sample_site.repository import make_repository

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
ALL = "all extras"


def run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    """Return what a command prints. End with its output if it fails."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=variables, check=False, stdout=-1, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def build(dist: Path) -> Path:
    """Build the sdist, and from it the wheel, into `dist`, and return the wheel. A tag must have its version."""
    run(sys.executable, "-m", "build", "--outdir", dist)
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())
    (wheel,) = dist.glob("*.whl")
    version = wheel.name.split("-")[1]
    if os.environ.get("RELEASE_TAG", f"v{version}") != f"v{version}":
        sys.exit(f"The tag is {os.environ['RELEASE_TAG']}, but the version is {version}")
    return wheel


def extras_of(wheel: Path) -> list[str]:
    """Return the names of the extras."""
    with ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_string(opened.read(name).decode()).get_all("Provides-Extra", [])


def installed(environment: Path) -> tuple[set[str], int]:
    """Return the packages of an environment, and the size of their files."""
    listed = json.loads(run(environment / "bin/python", "-m", "pip", "list", "--format=json"))
    size = sum(file.stat().st_size for file in environment.rglob("*") if file.is_file() and not file.is_symlink())
    return {package["name"] for package in listed}, size


def run_the_readme(programs: Path, folder: Path) -> int:
    """Run the commands of the README with what is installed in `programs`, in a new site, and return their number."""
    commands = re.findall(r"^ {4}\$ (.*)", README, re.MULTILINE)
    publish = re.findall(r"^ {4}uvx (pelican-resourcesync publish .*)", README, re.MULTILINE)[0]
    (bridge,) = re.findall(r"^ {4}(repo-bridge publish .*)", README, re.MULTILINE)
    import_site(folder)
    run("git", "checkout", "--quiet", "main", cwd=folder)
    if (programs / "pelican").exists():
        with (folder / "pelicanconf.py").open("a") as settings:
            settings.write("SITEURL = 'https://museum.example'\n")
    else:
        commands.remove("pelican")
        commands.insert(0, publish.replace("public", "output"))
        shutil.copytree(folder / "content", folder / "output")
    if [*programs.parent.glob("lib/*/site-packages/sqlalchemy")]:
        make_repository(folder / "repository", "https://sync.repository.example")
        commands.append(re.sub(r"--database \S+", "--database repository/dspace.db", bridge))
    for command in commands:
        # No address of an example is asked for what is live: no such host exists.
        name, *arguments = command.split()
        run(programs / name, *arguments, cwd=folder, RESOURCESYNC_FIRST="1", PATH=f"{programs}:{os.environ['PATH']}")
    return len(commands)


def describe(environment: Path, version: str, sbom: Path) -> None:
    """Write an SBOM (CycloneDX) of the package and of what it installs; what the environment had before is removed."""
    run(environment / "bin/python", "-m", "pip", "uninstall", "--yes", "markdown", "setuptools", "pip")
    options = ["--pyproject", "pyproject.toml", "--output-reproducible", "--output-file", sbom]
    run(sys.executable, "-m", "cyclonedx_py", "environment", *options, environment / "bin/python")
    content = json.loads(sbom.read_bytes())
    content["metadata"]["component"]["version"] = version  # the tool does not read that of hatchling
    sbom.write_text(json.dumps(content, indent=2), "utf-8")
    print(f"{sbom.name}: {len(content['components'])} packages")


def main(folder: Path) -> None:
    """Do all of it in `folder`, and print the figures."""
    shutil.rmtree(folder, ignore_errors=True)
    wheel = build(folder / "dist")
    extras = extras_of(wheel)
    for file in sorted((folder / "dist").iterdir()):
        print(f"{file.name}: {file.stat().st_size:,} bytes")
    print(f"{'installed with':16} packages   MB  seconds  commands of the README")
    for name, chosen in (("no extra", []), *((extra, [extra]) for extra in extras), (ALL, extras)):
        environment = folder / "environment"
        venv.create(environment, with_pip=True, clear=True)
        before, size_before = installed(environment)
        began = time.monotonic()
        # What a site brings itself: its sources are Markdown.
        run(
            environment / "bin/python",
            "-m",
            "pip",
            "install",
            "--quiet",
            wheel if not chosen else f"{wheel}[{','.join(chosen)}]",
            "markdown",
        )
        seconds = time.monotonic() - began
        after, size_after = installed(environment)
        run(environment / "bin/python", "-m", "pip", "check")
        commands = run_the_readme(environment / "bin", folder / "site")
        packages, size = len(after - before - {"Markdown"}), (size_after - size_before) / 1e6
        print(f"{name:16} {packages:8} {size:4.0f} {seconds:8.0f} {commands:9} passed", flush=True)
    describe(environment, wheel.name.split("-")[1], folder / "sbom.cdx.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

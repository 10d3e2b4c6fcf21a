"""Builders: each lays out commits in a folder of its own and has them built there by a driver process of its own."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.tools.truth.clone import Clone, environment

DRIVER = Path(__file__).with_name("driver.py")
PACKAGE = Path(__file__).resolve().parents[3] / "pelican_resourcesync"
#: Why a commit without the settings file is not built.
NO_SITE = "no settings file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How a site is built: where in the repository, and with which arguments of `pelican`."""

    site: str = "."
    content: str | None = None
    settings: str = "pelicanconf.py"
    more: Sequence[str] = ()
    siteurl: str = "https://example.org"

    def arguments(self, output: Path) -> list[str]:
        """Return the arguments of `pelican`."""
        content = [] if self.content is None else [self.content]
        steady = ["-o", str(output), "-d", "--ignore-cache", "--log-handler", "plain"]
        return [*content, "-s", self.settings, *self.more, *steady]

    @property
    def settings_file(self) -> str:
        """The path of the settings file in the repository."""
        return self.settings if self.site in ("", ".") else f"{self.site.rstrip('/')}/{self.settings}"


class Output(NamedTuple):
    """An output file as one build left it."""

    digest: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Build:
    """What came of building a commit: its output by path, or the reason why there is none."""

    outputs: Mapping[str, Output] = field(default_factory=dict)
    reason: str | None = None


class Builder:
    """Builds in one folder, which is the same for each commit: with plain Pelican, or to publish with the plug-in."""

    def __init__(self, command: Command, folder: Path, *, python: str, publish: bool = False) -> None:
        """Take the folder; the driver starts with the first build."""
        self._command = command
        self._folder = folder
        self._python = python
        self._publish = publish
        self._driver: subprocess.Popen[str] | None = None
        folder.mkdir(parents=True)

    def build(self, clone: Clone, sha: str, epoch: int) -> Build:
        """Build a commit that landed at a time, in seconds. One without the settings file has no site."""
        if self._command.settings_file not in clone.paths(sha):
            return Build(reason=NO_SITE)
        tree = self._folder / "tree"
        clone.lay_out(sha, tree)
        return self.run(tree, epoch)

    def run(self, tree: Path, epoch: int | None = None) -> Build:
        """Build what lies in `tree`, by a clock that stands still if `epoch` says where."""
        shutil.rmtree(self.output, ignore_errors=True)
        self.output.mkdir()
        answer = self._folder / "answer.json"
        answer.unlink(missing_ok=True)
        request = {
            "folder": str(tree / self._command.site),
            "arguments": self._command.arguments(self.output),
            "output": str(self.output),
            "siteurl": self._command.siteurl,
            "publish": self._publish,
            "epoch": epoch,
            "answer": str(answer),
            "log": str(self._folder / "log.txt"),
        }
        status = self._ask(request)
        if not answer.is_file():
            return Build(reason=self._why(status))
        data = json.loads(answer.read_text("ascii"))
        reason = data.get("reason")
        outputs = {path: Output(*each) for path, each in data.get("files", {}).items()}
        return Build(outputs, reason and reason.replace(f"{self._folder}/", ""))

    @property
    def output(self) -> Path:
        """The folder that is built into."""
        return self._folder / "output"

    def close(self) -> None:
        """End the driver."""
        if self._driver is not None and self._driver.stdin and self._driver.stdout:
            with suppress(BrokenPipeError):
                self._driver.stdin.close()
            self._driver.stdout.close()
            self._driver.wait()

    def _ask(self, request: Mapping[str, Any]) -> int:
        if self._driver is None:
            self._driver = self._start()
        assert self._driver.stdin
        assert self._driver.stdout
        with suppress(BrokenPipeError):
            self._driver.stdin.write(json.dumps(request) + "\n")
            self._driver.stdin.flush()
        status = self._driver.stdout.readline()
        if not status:
            message = f"the driver under {self._python} has died"
            raise SystemExit(message)
        return int(status)

    def _start(self) -> subprocess.Popen[str]:
        """Start the driver; to publish it must find the plug-in."""
        steady = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        if self._publish:
            steady["PYTHONPATH"] = str(link_plugin(self._folder))
        return subprocess.Popen(
            [self._python, str(DRIVER)],
            env=environment(**steady),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # an interrupt must not pass for a commit that does not build
        )

    def said(self) -> str:
        """Return the last line that the last build printed, the last error first of all; nothing if it printed none."""
        errors = [line for line in self._log() if line.startswith(("ERROR", "CRITICAL"))]
        return next(reversed(errors or self._log()), "")

    def _log(self) -> list[str]:
        log = self._folder / "log.txt"
        lines = log.read_text("utf-8", "replace").split("\n") if log.is_file() else []
        return [line.strip() for line in lines if line.strip()]

    def _why(self, status: int) -> str:
        if status < 0:
            return f"ended by signal {-status}"
        return next(reversed(self._log()), f"exit status {status}")


def link_plugin(folder: Path) -> Path:
    """Return a folder made in `folder` from which the plug-in can be imported, and nothing else that lies beside it."""
    imports = folder / "imports"
    imports.mkdir()
    (imports / PACKAGE.name).symlink_to(PACKAGE)
    return imports

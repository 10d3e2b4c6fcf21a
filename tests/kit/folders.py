"""A folder that some program built, and the command that publishes it."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit.reader import XmlEntry, parse_file
from tests.kit.sites import our_command

URL = "http://manual.test"
HOME = "resourcesync/site"


@dataclass
class Folder:
    """A working directory with the folder `public` in it, at a URL."""

    base: Path
    url: str = URL

    @property
    def public(self) -> Path:
        """The folder that is published."""
        return self.base / "public"

    def write(self, files: dict[str, bytes | str]) -> None:
        """Write files into the folder."""
        for path, data in files.items():
            file = self.public / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data.encode() if isinstance(data, str) else data)

    def rebuild(self, files: dict[str, bytes | str]) -> None:
        """Let the folder hold these files alone, as a generator that cleans it first does."""
        shutil.rmtree(self.public, ignore_errors=True)
        self.write(files)

    def configure(self, text: str = "", previous: str = "output") -> None:
        """Write the settings; by default, what the folder holds is continued."""
        (self.base / "resourcesync.toml").write_text(f'previous = "{previous}"\n{text}\n')

    def run(self, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the command in the working directory."""
        arguments = ["publish", "public", "--base-url", self.url, *options]
        return our_command(self.base, *arguments, check=check)

    def update(self, files: dict[str, bytes | str]) -> None:
        """Write files into the folder, and publish it."""
        self.write(files)
        self.run()

    def publish(self, *options: str) -> dict[str, Any]:
        """Publish, and return what came of it, as JSON."""
        result = json.loads(self.run("--json", *options).stdout)
        assert isinstance(result, dict)
        return result

    def stops(self, *options: str) -> str:
        """Publish in vain; return the message."""
        done = self.run(*options, check=False)
        assert done.returncode == 2, done
        assert not done.stdout
        return done.stderr.removeprefix("pelican-resourcesync: ").rstrip("\n")

    def listed(self) -> dict[str, XmlEntry]:
        """Return the entries of the Resource List by the path of their URIs."""
        return {self._path(each.uri): each for each in parse_file(self.public / HOME / "resourcelist.xml").entries}

    def changes(self) -> list[tuple[str, str, str]]:
        """Return the changes of all Change Lists: time, kind, path of the URI."""
        document = parse_file(self.public / HOME / "changelist.xml")
        lists = (
            [parse_file(self.public / self._path(each.uri)) for each in document.entries]
            if document.root == "sitemapindex"
            else [document]
        )
        return [
            (each.md.get("datetime") or str(each.lastmod), each.md["change"], self._path(each.uri))
            for one in lists
            for each in one.entries
        ]

    def _path(self, uri: str) -> str:
        assert uri.startswith(f"{self.url}/")
        return uri.removeprefix(f"{self.url}/")


def git(folder: Path, *arguments: str, time: str = "2026-01-01T00:00:00Z") -> str:
    """Run git in a folder, with a time for commits; return what it prints."""
    environment = {**os.environ, "GIT_COMMITTER_DATE": time, "GIT_AUTHOR_DATE": time}
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@a.test", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()

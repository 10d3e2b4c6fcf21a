"""The objects of a repository by name: one run of `git cat-file --batch` answers every question."""

import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import git

#: The name of an object, in a SHA-1 or a SHA-256 repository. All else, such as `worktree:a.md`, git would look up.
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Objects:
    """Gives objects as one process of git finds them; the process begins with the first question.

    A change of its `environment` counts once the process was closed.
    """

    def __init__(self, git: "git.Git", environment: Mapping[str, str]) -> None:
        """Take what runs git, and what of the environment is otherwise for that."""
        self._git = git
        self.environment = dict(environment)
        self._process: Any = None

    def get(self, name: str, kind: str) -> bytes | None:
        """Give the bytes of the object `name`; `None` where it is not there, not to be read or of another kind."""
        if not _NAME.fullmatch(name):
            return None
        try:
            found, data = self._ask(name)
        except OSError:
            found, data = b"", b""
        if not found:
            self.close()  # it ended, as it does with a damaged object and one that it cannot fetch
        return data if found == kind.encode() else None

    def _ask(self, name: str) -> tuple[bytes, bytes]:
        """Give the kind of an object and its bytes; the kind is empty where no whole answer came."""
        if self._process is None:
            with self._git.custom_environment(**self.environment):
                self._process = self._git.cat_file("--batch", istream=subprocess.PIPE, as_process=True)
        self._process.stdin.write(f"{name}\n".encode())
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        if len(answer) != len(("name", "kind", "size")):
            return (answer[-1] if answer else b""), b""  # missing, for example
        size = int(answer[2])
        data = self._process.stdout.read(size + 1)
        return (answer[1], data[:-1]) if len(data) == size + 1 else (b"", b"")

    def close(self) -> None:
        """End the process; another question begins another."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            process.stderr.close()
            process.proc.wait()

"""Reading of blobs by name, with a single `git cat-file --batch` process."""

import re
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import git

#: Git must not fetch. Git before 2.45 ignores the first variable, so all protocols are forbidden too.
NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}

#: The name of an object, in a SHA-1 or a SHA-256 repository. Git would resolve anything else, such as `worktree:a.md`.
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

#: How many objects are requested ahead. Their bytes are kept in memory until they are needed.
_AHEAD = 32

#: The type of an object, and its bytes.
Answer = tuple[bytes, bytes]


class Blobs:
    """A reader of blobs that are on this machine, through one git process, started with the first request.

    Blobs that are expected to be needed are requested ahead, many at a time, because waiting for each answer is what
    takes longest.
    """

    def __init__(self, git: "git.Git") -> None:
        """Use this git runner."""
        self._git = git
        self._process: Any = None
        self._prefetch: Iterator[str] = iter(())
        self._asked: deque[str] = deque()
        self._come: dict[str, Answer] = {}

    def prefetch(self, names: Iterable[str]) -> None:
        """Announce blobs, most of which will be requested, in about this order."""
        self._prefetch = filter(_NAME.fullmatch, names)

    def get(self, name: str) -> bytes | None:
        """Return the bytes of the blob `name`; `None` where it is missing, unreadable or not a blob."""
        if not _NAME.fullmatch(name):
            return None
        found, data = self._answer(name) or self._answer(name) or (b"", b"")
        return data if found == b"blob" else None

    def _answer(self, name: str) -> Answer | None:
        """Return the type of an object and its bytes, which are empty where the answer was incomplete.

        `None` where git exited, as it does for a damaged object, and that may be another object requested ahead.
        """
        alone = False
        try:
            if name not in self._come and name not in self._asked:
                names = dict.fromkeys([name, *islice(self._prefetch, _AHEAD)])
                alone = len(names) == 1 and not self._asked
                self._ask(names)
            while name not in self._come:
                self._come[self._asked[0]] = self._next(self._asked[0])
                self._asked.popleft()
        except (OSError, EOFError):
            self._prefetch = iter(())
            self.close()
            return (b"", b"") if alone else None
        answer = self._come.pop(name)
        if len(self._come) > _AHEAD:  # announced but never requested
            self._come.clear()
        return answer

    def _ask(self, names: Iterable[str]) -> None:
        if self._process is None:
            with self._git.custom_environment(**NO_FETCH):
                self._process = self._git.cat_file("--batch", istream=subprocess.PIPE, as_process=True)
        self._asked += names
        self._process.stdin.write("".join(f"{name}\n" for name in names).encode())
        self._process.stdin.flush()

    def _next(self, name: str) -> Answer:
        answer = self._process.stdout.readline().split()
        if len(answer) != len(("name", "kind", "size")):
            if not answer:
                raise EOFError
            return answer[-1], b""  # missing, for example
        if answer[0] != name.encode():  # a damaged object may be shorter than its header says
            raise EOFError
        size = int(answer[2])
        data = self._process.stdout.read(size + 1)
        if len(data) != size + 1:
            raise EOFError
        return answer[1], data[:-1]

    def close(self) -> None:
        """End the process. A later request starts a new one."""
        process, self._process = self._process, None
        self._asked.clear()
        self._come.clear()
        if process is not None:
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            process.stderr.close()
            process.proc.wait()

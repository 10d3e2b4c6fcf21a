"""Progress: what is said while commits are built; how far it has come is for a terminal alone."""

from dataclasses import dataclass
from typing import TextIO

_CLEAR = "\r\033[K"


@dataclass
class Progress:
    """Says lines on a stream, and on a terminal beneath them how far it has come."""

    stream: TextIO

    def say(self, line: str) -> None:
        """Say a line."""
        self._print(f"{self._clear}{line}\n")

    def count(self, done: int, total: int) -> None:
        """Show how many are done."""
        if self.stream.isatty():
            self._print(f"{_CLEAR}{done} of {total} commits")

    def close(self) -> None:
        """Take away what only shows how far it has come."""
        self._print(self._clear)

    @property
    def _clear(self) -> str:
        return _CLEAR if self.stream.isatty() else ""

    def _print(self, text: str) -> None:
        self.stream.write(text.encode("utf-8", "backslashreplace").decode())
        self.stream.flush()

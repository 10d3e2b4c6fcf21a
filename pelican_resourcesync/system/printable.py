"""Make untrusted text safe to show: it cannot control the terminal, forge a line, or reveal the credentials in a URL.

Everything that is written to a terminal or a log passes through here, because paths, settings, headers and documents of
other publishers may hold anything.
"""

import logging
import re
import sys
from collections.abc import Iterable

#: Users with their passwords in URLs; `USER` alone is a placeholder of our messages.
_USER = re.compile(r"(?<=//)(?!USER@)[^\s/?#'\"<>]+@")
_NAME = r"[\w.%\[\]-]{0,60}"  # bounded, so that matching takes linear time
_TOKEN = re.compile(
    rf"([?&;#](?:{_NAME}(?:token|secret|passw|pwd|signature|credential|api[-_]?key|access[-_]?key|auth(?!or)|session|jwt)"
    rf"{_NAME}|sig|key|sid|pass)=)[^&;#\s'\"<>]+",
    re.IGNORECASE,
)


def printable(text: object) -> str:
    r"""Return one line of text in which credentials in URLs are masked and unprintable characters are escaped.

    Control characters, line breaks, bidi controls and lone surrogates become escapes such as `\x1b` and `\u202e`.
    """
    shown = mask_credentials(str(text))
    if shown.isprintable():
        return shown
    return "".join([character if character.isprintable() else ascii(character)[1:-1] for character in shown])


def printable_lines(text: str) -> str:
    """Return text made safe as `printable` does, except that its line breaks stay."""
    return "\n".join(map(printable, text.split("\n")))


def print_line(text: str) -> None:
    """Print a text as one line."""
    sys.stdout.write(f"{printable(text)}\n")


def mask_credentials(text: str) -> str:
    """Return text with `***` for users, passwords and tokens in URLs."""
    return _TOKEN.sub(r"\1***", _USER.sub("***@", text)) if "//" in text or "=" in text else text


def get_logger(name: str) -> logging.Logger:
    """Return a logger whose messages are made `printable`."""
    logger = logging.getLogger(name)
    logger.addFilter(make_printable)
    return logger


def make_printable(record: logging.LogRecord) -> bool:
    """Make the message of a log record `printable`: a filter for loggers."""
    record.msg, record.args = printable(record.getMessage()), ()
    return True


def suggestion(value: object, known: Iterable[str]) -> str:
    """Return " (did you mean …?)" with the most similar of `known`, or an empty string where none is similar."""
    from difflib import get_close_matches

    near = get_close_matches(value, [*known], n=1) if isinstance(value, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""

"""How messages name settings, by their key in a file or as an option, and show their values."""

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.settings import Wording

_LONGEST = 80
_MOST_BITS = 64


def of_file(file: Path) -> Wording:
    """Return the wording for settings in a TOML file."""
    return _words(lambda key: f"{key} in {file}" if key else str(file))


def _words(called: Callable[[str], str]) -> Wording:
    return Wording(
        called=called,
        shown=shown,
        yes="true",
        no="false",
        all="all",
        or_all="'all'",
        table="table",
        address="base-url",
    )


def shown(value: object) -> str:
    """Return a value for messages: short, on one line, and without a password."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "a table"
        case list() if not all(isinstance(each, str) for each in value):
            return "a list"
        case dt.date() | dt.time():
            return value.isoformat()
        case int() if value.bit_length() > _MOST_BITS:
            return "a number that is too large"
    text = ",".join(value) if isinstance(value, list) else value
    return repr(_discreet(text)[:_LONGEST] if isinstance(text, str) else text)


def _discreet(text: str) -> str:
    """Remove what may be a password: everything before the last `@`, and any named password."""
    return re.sub(r"(?i)(password\s*=).*", r"\1…", re.sub(r"(?s).*@", "…@", text))


#: The wording for options of the command line.
OF_OPTIONS = _words(lambda key: f"--{key}")


#: User and password as SQLAlchemy splits them, after a scheme that may lack its colon or its slashes. `C:\\` is a
#: drive. What matched as the scheme is not tried again as something else (`(?>`).
_LOGIN = re.compile(r"(?!(?-i:[A-Z]):\\)(?>[^/@]*//+|(?:postgres[\w+]*:)?/*)[^:/]*:[^@]+@", re.IGNORECASE)

#: A named password, among the options of a URL or anywhere else.
_NAMED = re.compile(r"password\s*=\s*[^\s&]", re.IGNORECASE)

#: What libpq accepts instead of a URL.
_WORDS = re.compile(r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service)\s*=")


def has_password(url: str) -> bool:
    """Return whether a database URL, or what may be meant as one, contains a password, by its position or its name."""
    is_file = url.partition(":")[0].partition("+")[0].lower() == "sqlite"
    return bool(_NAMED.search(unquote(url))) or (not is_file and bool(_LOGIN.match(url)))


def is_nearly_url(text: str) -> bool:
    """Return whether a text is not a URL but was meant as one with a password."""
    return "://" not in text and has_password(text)


def is_connection_string(text: str) -> bool:
    """Return whether a text is a connection string such as `host=… password=…`, which may contain a password."""
    return "://" not in text and bool(_WORDS.search(text))

"""Detects passwords in database URLs, including slightly malformed ones."""

import re
from urllib.parse import unquote

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

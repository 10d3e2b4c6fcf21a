"""Passwords in the URLs of databases, also in those that are slightly wrong: whether there is one."""

import re
from urllib.parse import unquote

#: User and password as SQLAlchemy takes them apart, after a scheme that may lack its colon or its slashes; `C:\\` is a
#: disk. What was taken for the scheme stays one (`(?>`).
_LOGIN = re.compile(r"(?!(?-i:[A-Z]):\\)(?>[^/@]*//+|(?:postgres[\w+]*:)?/*)[^:/]*:[^@]+@", re.IGNORECASE)

#: A password that has a name, among the options of a URL or wherever else.
_NAMED = re.compile(r"password\s*=\s*[^\s&]", re.IGNORECASE)

#: What libpq takes in place of a URL.
_WORDS = re.compile(r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service)\s*=")


def has_password(url: str) -> bool:
    """Tell whether the URL of a database, or what may be meant as one, has a password, by its place or its name."""
    is_file = url.partition(":")[0].partition("+")[0].lower() == "sqlite"
    return bool(_NAMED.search(unquote(url))) or (not is_file and bool(_LOGIN.match(url)))


def is_nearly_url(text: str) -> bool:
    """Tell whether this is no URL, and was meant as one with a password."""
    return "://" not in text and has_password(text)


def is_connection_string(text: str) -> bool:
    """Tell whether this is no URL but words such as `host=… password=…`, which may hold a password."""
    return "://" not in text and bool(_WORDS.search(text))

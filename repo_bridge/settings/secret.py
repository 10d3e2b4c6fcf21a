"""Passwords in the URLs of databases: whether there is one."""

import re
from urllib.parse import parse_qsl

#: User and password as SQLAlchemy takes them apart.
_LOGIN = re.compile(r"[^:/]*:(?P<password>[^@]*)@")

#: What libpq takes in place of a URL.
_WORDS = re.compile(r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|service)\s*=")


def has_password(url: str) -> bool:
    """Tell whether the URL of a database has a password, before its host or among its options."""
    _, _, rest = url.partition("://")
    login = _LOGIN.match(rest)
    options = parse_qsl(rest.partition("?")[2])
    return bool(login and login["password"]) or any(name.lower().endswith("password") for name, _ in options)


def is_connection_string(text: str) -> bool:
    """Tell whether this is no URL but words such as `host=… password=…`, which may hold a password."""
    return "://" not in text and bool(_WORDS.search(text))

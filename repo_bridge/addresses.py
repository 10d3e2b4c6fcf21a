"""Where a repository's things are on the web, by version, and where their records are written (rules 17 and 18)."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from urllib.parse import quote

from repo_bridge.model import Collection, Community

#: What stands as it is in the name of a record's file; the rest is written as `~` and two hexadecimal digits.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_LONGEST_NAME = 120
#: The longest name of a file that is part of a URL; a longer one is cut, because servers look at the number before it.
_LONGEST_LABEL = 200
_FIRST_ANGULAR = 7


class Interface(StrEnum):
    """The user interface of versions 5 and 6, which decides about addresses of files (rule 18)."""

    JSPUI = "jspui"
    XMLUI = "xmlui"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The addresses of one repository, all without a slash at their end.

    `version` is DSpace's; `ui` is where people see it; `server` the REST server of version 7 and later, from which
    files are had without a detour. `records` is where the folder of records is served; `own_files` tells that files
    are published there too, because what was exported says nothing of where else they are.
    """

    version: int
    ui: str
    records: str
    server: str = ""
    interface: Interface = Interface.JSPUI
    own_files: bool = False

    def landing_page(self, item: str, handle: str | None) -> str | None:
        """Give the URI of an item's page; `None` for one without a handle before version 7, or in an archive."""
        if handle:
            return f"{self.ui}/handle/{quote(handle)}"
        return f"{self.ui}/items/{item}" if self.version >= _FIRST_ANGULAR and not self.own_files else None

    def container(self, container: Collection | Community) -> str | None:
        """Give the URI of the page of a collection or community; `None` for one without a handle before version 7."""
        if container.handle:
            return f"{self.ui}/handle/{quote(container.handle)}"
        kind = "collections" if isinstance(container, Collection) else "communities"
        return f"{self.ui}/{kind}/{container.id}" if self.version >= _FIRST_ANGULAR else None

    def bitstream(self, bitstream: str, handle: str | None, sequence_id: int | None, name: str) -> str | None:
        """Give the URI that answers with a file; `None` where it has none: before 7 that takes handle and number."""
        if self.version >= _FIRST_ANGULAR:
            if self.server:
                return f"{self.server}/api/core/bitstreams/{bitstream}/content"
            return f"{self.ui}/bitstreams/{bitstream}/download"
        if not handle or sequence_id is None:
            return None
        label = quote(name[:_LONGEST_LABEL] or "file", safe="")
        if self.interface is Interface.JSPUI:
            return f"{self.ui}/bitstream/{quote(handle)}/{sequence_id}/{label}"
        return f"{self.ui}/bitstream/handle/{quote(handle)}/{label}?sequence={sequence_id}"

    def record(self, path: str) -> str:
        """Give the URI of the record that is written at a path below the folder of records."""
        return f"{self.records}/{quote(path)}"


def record_path(prefix: str, item: str, handle: str | None) -> str:
    """Give the path of a record below the folder of records: by handle, which outlives the move to another version.

    An item without a handle, or with one that no file can be called by, has one by its id.
    """
    names = [_file_name(part) for part in (handle or "").split("/", 1)]
    if len(names) == 2 and all(0 < len(name) <= _LONGEST_NAME for name in names):  # noqa: PLR2004 - prefix and suffix
        return f"{prefix}/{names[0]}/{names[1]}.xml"
    return f"{prefix}/~item/{_short(_file_name(item), item)}.xml"


def file_path(item: str, name: str) -> str:
    """Give the path, below the folder of records, of a file that an item has under a name."""
    return "/".join(["files", *(_short(_file_name(part), part) for part in (item, name))])


def _short(name: str, text: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"~{sha256(text.encode()).hexdigest()}"


def _file_name(text: str) -> str:
    """Write a text as the name of a file, so that no two are written alike; no name begins or ends with a dot."""
    plain = "".join(each if each in _PLAIN else "".join(f"~{byte:02X}" for byte in each.encode()) for each in text)
    if plain.startswith("."):
        plain = f"~2E{plain[1:]}"
    return f"{plain[:-1]}~2E" if plain.endswith(".") else plain

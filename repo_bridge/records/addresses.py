"""The URLs of items, collections and files by DSpace version, and the paths of records."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from urllib.parse import quote

from repo_bridge.model import Collection, Community

#: Characters kept as they are in the file name of a record; all others are written as `~` and two hexadecimal digits.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_LONGEST_NAME = 120
#: The longest file name in a URL. Longer names are cut, because servers find the file by its sequence number.
_LONGEST_LABEL = 200
_FIRST_ANGULAR = 7


class Interface(StrEnum):
    """The user interface of versions 5 and 6, which determines the URLs of files (rule 18)."""

    JSPUI = "jspui"
    XMLUI = "xmlui"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The base URLs of one repository, all without a trailing slash.

    `version` is the version of DSpace. `ui` is the user interface, `server` the REST server of version 7 and later,
    which serves files without a redirect. `records` is where the folder of records is served. `own_files` means that
    files are published there too, because an export does not say where else they are. `signposting` means that the
    server has linksets.
    """

    version: int
    ui: str
    records: str
    server: str = ""
    interface: Interface = Interface.JSPUI
    own_files: bool = False
    signposting: bool = False

    def landing_page(self, item: str, handle: str | None) -> str | None:
        """Return the URI of an item's page; `None` without a handle before version 7, or for an archive."""
        if handle:
            return f"{self.ui}/handle/{quote(handle)}"
        return f"{self.ui}/items/{item}" if self.version >= _FIRST_ANGULAR and not self.own_files else None

    def container(self, container: Collection | Community) -> str | None:
        """Return the URI of the page of a collection or community; `None` without a handle before version 7."""
        if container.handle:
            return f"{self.ui}/handle/{quote(container.handle)}"
        kind = "collections" if isinstance(container, Collection) else "communities"
        return f"{self.ui}/{kind}/{container.id}" if self.version >= _FIRST_ANGULAR else None

    def bitstream(self, bitstream: str, handle: str | None, sequence_id: int | None, name: str) -> str | None:
        """Return the URI of a file; `None` before version 7 if the item has no handle or the file no sequence id."""
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

    def linkset(self, item: str) -> str | None:
        """Return the URI of what DSpace's Signposting says of an item, if `signposting` is set."""
        return f"{self.server}/signposting/linksets/{item}/json" if self.signposting and self.server else None

    def record(self, path: str) -> str:
        """Return the URI of the record at a path below the folder of records."""
        return f"{self.records}/{quote(path)}"


def record_path(prefix: str, item: str, handle: str | None) -> str:
    """Return the path of a record below the folder of records.

    It is made from the handle, which stays the same when DSpace is upgraded. An item without a handle, or with one that
    cannot be a file name, has a path made from its id.
    """
    names = [_file_name(part) for part in (handle or "").split("/", 1)]
    if len(names) == 2 and all(0 < len(name) <= _LONGEST_NAME for name in names):  # noqa: PLR2004 - prefix and suffix
        return f"{prefix}/{names[0]}/{names[1]}.xml"
    return f"{prefix}/~item/{_short(_file_name(item), item)}.xml"


def file_path(item: str, name: str) -> str:
    """Return the path, below the folder of records, of an item's file with this name."""
    return "/".join(["files", *(_short(_file_name(part), part) for part in (item, name))])


def _short(name: str, text: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"~{sha256(text.encode()).hexdigest()}"


def _file_name(text: str) -> str:
    """Return a file name for a text, different for every text; it never begins or ends with a dot."""
    plain = "".join(each if each in _PLAIN else "".join(f"~{byte:02X}" for byte in each.encode()) for each in text)
    if plain.startswith("."):
        plain = f"~2E{plain[1:]}"
    return f"{plain[:-1]}~2E" if plain.endswith(".") else plain

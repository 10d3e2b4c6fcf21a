"""Why the content of a page counts as changed: what differs between the page in a folder and the one that is live."""

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

from pelican_resourcesync.content import Page, read_page
from pelican_resourcesync.errors import AbsentError, PublicationError, SettingsError, failing_disk
from pelican_resourcesync.http import Web, path_of_uri, served_paths
from pelican_resourcesync.publication import local_status

_LINES_AROUND = 1


def differences(folder: Path, uri: str) -> Iterator[str]:
    """Yield lines that say what differs in the content of a page, which is live at its URI.

    Raises `SettingsError` where the folder has no publication or no such page, and `TransportError` where the live page
    cannot be read.
    """
    status = local_status(folder) if folder.is_dir() else None
    if status is None:
        message = f"there is no publication in {folder}: --why needs the folder that was published"
        raise SettingsError(message)
    path = path_of_uri(status.siteurl, uri)
    file = next((folder / name for name in served_paths(path or "") if (folder / name).is_file()), None)
    if path is None or file is None:
        message = f"there is no file for {uri} in {folder}: pass the URL of a page below {status.siteurl}/"
        raise SettingsError(message)
    with failing_disk(f"{file} cannot be read", "try again", PublicationError):
        body = file.read_bytes()
    try:
        live = Web(status.siteurl).read(path)[1]
    except AbsentError:
        yield f"{uri} is not live yet: the whole page is new."
        return
    if body == live:
        yield f"{uri} is live with the same bytes."
        return
    now, before = read_page(body, uri), read_page(live, uri)
    hidden = [where for where, page in (("live", before), ("in the folder", now)) if not page.is_news]
    if hidden:
        yield f"The page {' and '.join(hidden)} is not for people: an error page, a redirect, noindex, or a copy."
    lines = [*unified_diff(_said(before), _said(now), "live", str(file), lineterm="", n=_LINES_AROUND)]
    same = now.hash == before.hash
    yield "The content is the same, and only what is around it differs." if same else "The content differs."
    yield from lines


def _said(page: Page) -> list[str]:
    """Return all that counts of a page, line by line."""
    others = (("link", page.links), ("picture", page.pictures), ("data", page.data))
    return [f"title: {page.title}", *page.blocks, *(f"{name}: {value}" for name, values in others for value in values)]

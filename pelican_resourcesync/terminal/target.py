"""The target of a command that inspects a publication: a folder laid out like Pelican's output, or a URL."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication.status.remote_status import visit
from pelican_resourcesync.publication.status.status import Status, look


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found at a `target`: its `publication`, or the `problem` that it is missing or damaged."""

    target: str
    publication: Status | None = None
    problem: str | None = None


def look_at(target: str, *, needed: bool = True) -> Found:
    """Inspect a folder or a URL. A folder that is not `needed`, such as an output not yet built, may be missing.

    Raises `SettingsError` for a target that is neither, and `TransportError` where a URL cannot be read.
    """
    try:
        publication = _publication(target, needed=needed)
    except PublicationError as error:
        return Found(target=target, problem=str(error))
    if publication is None:
        return Found(target=target, problem=f"there is no publication at {target}")
    return Found(target=target, publication=publication)


def _publication(where: str, *, needed: bool) -> Status | None:
    if "://" in where:
        with TemporaryDirectory(prefix="resourcesync-") as folder:
            return visit(where, Path(folder, "publication"))
    if needed and not Path(where).is_dir():
        message = f"{where} is no folder and no URL: name an output, or the http(s) URL of a site"
        raise SettingsError(message)
    return look(Path(where))

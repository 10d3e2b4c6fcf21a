"""The target of a command that looks at a publication: a folder that is laid out as an output is, or a URL."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication.status import Status, look
from pelican_resourcesync.publication.visiting import visit


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is at a `target`: its `publication`, or the `problem` why there is none that is whole."""

    target: str
    publication: Status | None = None
    problem: str | None = None


def look_at(target: str, *, needed: bool = True) -> Found:
    """Look at a folder or a URL; a folder that is not `needed`, as an output that is yet to be, may be missing.

    Raises `SettingsError` for what is neither, and `TransportError` where it cannot be known what is at a URL.
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

"""`repo-bridge init`: write `repo_bridge.toml` and systemd units, from options and from DSpace's own configuration."""

import getpass
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.errors import SettingsError, failing_disk
from pelican_resourcesync.publication import is_loopback
from pelican_resourcesync.terminal import format_count
from repo_bridge.access import hidden
from repo_bridge.model import Field
from repo_bridge.settings import FILE, ROWS, check_options

SERVICE, TIMER = "repo-bridge.service", "repo-bridge.timer"

#: DSpace's files below the folder where it is installed; the first decides, and both may include others.
_FILES = ("config/local.cfg", "config/dspace.cfg")
_INCLUDE, _INCLUDE_OPTIONAL = "include", "includeoptional"
_HIDDEN = "metadata.hide."
#: The fields that DSpace hides if nobody configures it.
_HIDDEN_BY_DEFAULT = ("dc.description.provenance", "person.email")
#: The values with which such a property shows a field; DSpace hides it with any other, even an empty one.
_FALSE = frozenset({"false", "no", "off", "n", "f", "0"})
_ROLE = "resourcesync"

#: What has to be known.
_REQUIRED = ("base-url", "ui-url", "database")


def find_settings(dspace: Path) -> tuple[dict[str, object], str]:
    """Return the settings that follow from the configuration of a DSpace installed in a folder, and what was read.

    As in DSpace, the environment decides before `local.cfg`, and that before `dspace.cfg`. Raises `SettingsError` if
    there is neither file.
    """
    given = {name.replace("__P__", ".").replace("__D__", "-"): value for name, value in os.environ.items()}
    values, read = {**given, "dspace.dir": str(dspace)}, list[Path]()
    for name in _FILES:
        values = {**_properties(dspace / name, values, read), **values}
    if not read:
        message = f"{dspace} has no {_FILES[1]}: pass the folder in which DSpace is installed"
        raise SettingsError(message)
    settings: dict[str, object] = {
        "ui-url": _value(values, "dspace.ui.url") or _value(values, "dspace.url"),
        "server-url": _value(values, "dspace.server.url"),
        "database": _database(_value(values, "db.url")),
        "name": _value(values, "dspace.name"),
        "hidden": _hidden(values),
    }
    store = Path(_value(values, "assetstore.dir") or dspace / "assetstore")
    with suppress(PermissionError):  # files in another store than the first, which is S3, are not in this folder
        if store.is_dir() and _value(values, "assetstore.index.primary") in {"", "0"}:
            settings["assetstore"] = str(store)
    variables = [name for name in os.environ if "__P__" in name]
    what = [*map(str, read), *([format_count(len(variables), "environment variable")] if variables else [])]
    note = (
        f"Read: {', '.join(what)}. DSpace also reads environment variables (such as db__P__url) and system properties"
        " (-D) of its own process. If it has any, run this command there, or compare the settings with them, above all"
        " hidden."
    )
    return {key: value for key, value in settings.items() if value}, note


def complete(given: Mapping[str, object], ask: Callable[[str], str] | None, *, of_dspace: bool) -> dict[str, object]:
    """Return the settings to write; what is missing is asked for. `of_dspace` says that DSpace's own were read.

    Raises `SettingsError` for one that is invalid, or is missing without `ask`.
    """
    settings: dict[str, object] = {"out": "public", **given}
    for key in (name for name in _REQUIRED if name not in settings):
        if ask is None:
            message = f"{key} ({ROWS[key].text}) is missing: pass --{key}"
            raise SettingsError(message)
        settings[key] = ask(f"{key} ({ROWS[key].text}): ").strip()
    if not of_dspace:
        more = ask("hidden (fields of each metadata.hide.… in local.cfg, with commas; may be empty): ") if ask else ""
        fields = [*_HIDDEN_BY_DEFAULT, *filter(None, map(str.strip, more.split(",")))]
        check_options({"hidden": ",".join(fields)})
        settings["hidden"] = fields
    if "timezone" not in settings and ask:
        settings["timezone"] = ask(f"timezone ({ROWS['timezone'].text}, such as Europe/Berlin; may be empty): ").strip()
    check_options({key: value for key, value in settings.items() if isinstance(value, str) and value})
    return {key: settings[key] for key in ROWS if settings.get(key)}


@dataclass(frozen=True, slots=True)
class Written:
    """The files that were written, the settings, and what to look at in them."""

    files: tuple[str, ...]
    settings: Mapping[str, object]
    notes: tuple[str, ...]
    dry_run: bool = False

    def text(self) -> str:
        """Return what was written, and what comes next; in a dry run what would be written."""
        if self.dry_run:
            return "\n".join([f"Would be written: {', '.join(self.files)}", *self.notes])
        units = (
            f"cp {SERVICE} {TIMER} /etc/systemd/system/ && systemctl daemon-reload && systemctl enable --now {TIMER}"
        )
        is_server = re.match("(?!sqlite).*://", str(self.settings.get("database", "")))
        login = ", and add the password for the database if it needs one" if is_server else ""
        return (
            f"Written: {', '.join(self.files)}\n"
            f"Check the settings in {FILE}{login}.\n"
            f"{''.join(f'{note}{chr(10)}' for note in self.notes)}"
            "Then see what would be published: repo-bridge publish --dry-run\n"
            f"To publish every night, as root in this folder: {units}"
        )


def write_files(folder: Path, settings: Mapping[str, object], read: str = "", *, dry_run: bool = False) -> Written:
    """Write the settings, for their owner alone, and the units; `read` is a note on where the settings are from.

    A `dry_run` writes nothing.

    Raises `SettingsError` if one of them exists or cannot be written.
    """
    home = folder.absolute()
    out = home / str(settings.get("out", ""))
    # A folder within another is not named again, because nothing could be moved between the two.
    writable = [home] if out.is_relative_to(home) else [home, out]
    texts = {
        FILE: "".join(
            f"# {ROWS[key].text}\n{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in settings.items()
        ),
        SERVICE: (
            "[Unit]\nDescription=Publish the repository over ResourceSync\n"
            "Wants=network-online.target\nAfter=network-online.target postgresql.service\n\n"
            f"[Service]\nType=oneshot\nUser={_user()}\nWorkingDirectory={_unit_text(home)}\n"
            f"ExecStart={_quoted(sys.executable)} -m repo_bridge publish\n"
            "# It can write only into these folders, and the web server can read what it publishes.\n"
            f"ReadWritePaths={' '.join(map(_quoted, writable))}\n"
            "ProtectSystem=strict\nPrivateTmp=yes\nPrivateDevices=yes\nNoNewPrivileges=yes\nCapabilityBoundingSet=\n"
            "UMask=0022\n"
        ),
        TIMER: "[Timer]\nOnCalendar=*-*-* 03:15\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
    }
    existing = next((folder / name for name in texts if (folder / name).exists()), None)
    if existing:
        message = f"{existing} already exists: remove it to have it written again"
        raise SettingsError(message)
    for name, text in texts.items() if not dry_run else ():
        with failing_disk(f"{folder / name} cannot be written", kind=SettingsError):
            handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if name == FILE else 0o644)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
    files, notes = tuple(str(folder / name) for name in texts), (*filter(None, [read]), *_notes(settings))
    return Written(files, settings, notes, dry_run)


def _notes(settings: Mapping[str, object]) -> Iterator[str]:
    hidden = settings.get("hidden")
    if isinstance(hidden, list) and set(_HIDDEN_BY_DEFAULT) <= {*hidden}:
        yield (
            "hidden has only the fields that DSpace hides by default, because its settings were not read: add those of"
            " every metadata.hide.… in its local.cfg, or they will be published."
        )
    if "timezone" not in settings:
        yield "timezone is not set, so embargoes end up to half a day late: set it to that of DSpace's machine."
    for key in ("ui-url", "server-url"):
        if is_loopback(str(settings.get(key, ""))):
            yield f"{key} is {settings[key]}, which only this machine can open: set the URL that visitors use."
    if "assetstore" not in settings:
        yield "assetstore is not set, so dumps would have no files: set it to the folder of files that are not in S3."


def _user() -> str:
    """Return the name of the user who runs this process, whatever `USER` says after `su` or `runuser`."""
    if sys.platform == "win32":
        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # as in a container; units take numbers too
        return str(os.geteuid())


def _unit_text(value: object) -> str:
    """Return a text as the value of a unit's setting, where `%` begins a specifier."""
    return str(value).replace("%", "%%")


def _quoted(value: object) -> str:
    """Return a text as one word of a unit's setting."""
    return _unit_text(json.dumps(str(value), ensure_ascii=False))


def _properties(file: Path, known: Mapping[str, str], read: list[Path]) -> dict[str, str]:
    """Return the properties in one of DSpace's files and in those that it includes; none if it does not exist.

    The first value of a name counts. Paths of included files may name properties as `${…}`, of these and the `known`
    ones. The files are added to those that were `read`. Raises `SettingsError` for one that cannot be read.
    """
    properties: dict[str, str] = {}
    file = file.resolve()
    if file in read:
        return properties
    with (
        failing_disk(f"{file} cannot be read", "use the other options instead of --dspace", SettingsError),
        suppress(FileNotFoundError, NotADirectoryError),
    ):
        text = file.read_text("utf-8", "replace")
        read.append(file)
        for name, value in _parse(text):
            if name not in {_INCLUDE, _INCLUDE_OPTIONAL}:
                properties.setdefault(name, value)
                continue
            for path in _resolved({**properties, **known}, value).split(","):
                included = (file.parent / path.strip()).resolve()
                for key, other in _properties(included, {**properties, **known}, read).items():
                    properties.setdefault(key, other)
                if included not in read and name == _INCLUDE:
                    message = f"{file} includes {included}, which does not exist: use other options than --dspace"
                    raise SettingsError(message)
    return properties


def _parse(text: str) -> Iterator[tuple[str, str]]:
    """Yield the properties in the text of a configuration file, in their order."""
    joined = re.sub(r"\\\r?\n[ \t]*", "", text)
    lines = (re.fullmatch(r"([^#!=:\s][^=:\s]*+)\s*+[=:]?+\s*+(.*)", line.strip()) for line in joined.splitlines())
    yield from ((line[1], line[2]) for line in lines if line)


def _value(values: Mapping[str, str], name: str) -> str:
    """Return a property, without a slash at its end."""
    return _resolved(values, values.get(name, "")).rstrip("/")


def _resolved(values: Mapping[str, str], text: str) -> str:
    """Return a text with the properties that it names as `${…}`, or as `${env:…}` variables of the environment."""
    for _ in range(10):  # they may name each other
        text = re.sub(r"\$\{(?:env:)?([^}$]+)\}", lambda named: values.get(named[1], ""), text)
    return text


def _database(url: str) -> str:
    """Return the URL of the database, with a role of our own, from that of JDBC."""
    found = re.fullmatch(r"jdbc:postgresql://([^/?]+)/([^/?]+).*", url)
    return f"postgresql://{_ROLE}@{found[1]}/{found[2]}" if found else ""


def _hidden(values: Mapping[str, str]) -> list[str]:
    """Return the fields that DSpace hides and the bridge does not hide by itself."""
    names = [name.removeprefix(_HIDDEN) for name in values if name.startswith(_HIDDEN)]
    wanted = [name for name in names if _value(values, _HIDDEN + name).lower() not in _FALSE]
    return sorted(name for name in wanted if not hidden(Field(*[*name.split("."), ""][:3])))

"""What only an extra installs: one line says which is missing, or that Pelican is too old."""

import re
import tomllib

import pelican
import pytest

import pelican_resourcesync
from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    IncompleteError,
    MirrorError,
    NoSourceError,
    PublicationError,
    SettingsError,
    SourceError,
    StatusError,
    StoppedError,
    TransportError,
)
from pelican_resourcesync.source.source import not_signed
from pelican_resourcesync.system.exits import explain, run_command
from pelican_resourcesync.system.extras import extra, require_pelican
from pelican_resourcesync.system.signing import SignatureError
from tests.kit.sites import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_every_extra_is_documented_and_asked_for() -> None:
    """The table has all; each that the code asks for is one, and each that some command needs is asked for."""
    table = (ROOT / "docs/commands.md").read_text("utf-8").partition("| extra |")[2].partition("\n\n")[0]
    assert sorted(EXTRAS) == sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    files = [file for name in ("pelican_resourcesync", "repo_bridge") for file in (ROOT / name).rglob("*.py")]
    code = "".join(file.read_text("utf-8") for file in files)
    names = re.findall(r'extra\("(\w+)", |-resourcesync\[(\w+)\]|: "(bridge|table)"', code)
    assert {name for found in names for name in found if name} == EXTRAS.keys()


def test_floors() -> None:
    """The table of known holes has the oldest versions, and the reason for lxml is where pip's message is."""
    bounds = {*PROJECT["dependencies"], *(bound for extra in EXTRAS.values() for bound in extra)}
    table = re.findall(
        r"^\| `([\w-]+)`.*? \| ([\d.]+) \| .*?CVE", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(table) == 7
    assert {f"{name}>={version}" for name, version in table} <= bounds
    (lxml,) = (bound for bound in bounds if bound.startswith("lxml"))
    assert f"pip: `pelican-resourcesync depends on {lxml}`" in (ROOT / "docs/troubleshooting.md").read_text("utf-8")


def test_an_import_that_fails() -> None:
    """It becomes one line; what does not fail stays as it is."""
    message = r"^signatures need an extra: pip install 'pelican-resourcesync\[sign\]'$"
    with pytest.raises(SettingsError, match=message), extra("sign", "signatures need an extra"):
        import nothing_of_this_name  # type: ignore[import-not-found]  # noqa: F401 - on purpose
    with pytest.raises(ZeroDivisionError), extra("sign", "signatures need an extra"):
        _ = 1 / 0


@pytest.mark.parametrize(
    ("version", "is_old"),
    [("4.5.4", True), ("4.9.1", True), ("4.10.2", True), ("3.7", True), ("4.11.0", False), ("4.11.0.post0", False),
     ("4.12.0", False), ("5.0.0rc1", False), ("10.0", False), ("unknown", False)],
)  # fmt: skip
def test_a_pelican_that_is_too_old(monkeypatch: pytest.MonkeyPatch, version: str, *, is_old: bool) -> None:
    """Pelican would only log an error and build without the plug-in: the build ends with a line instead."""
    monkeypatch.setattr(pelican, "__version__", version)
    if not is_old:
        require_pelican("the plug-in")
        return
    (bound,) = EXTRAS["pelican"]
    with pytest.raises(SystemExit) as ended:
        pelican_resourcesync.register()
    assert ended.value.code == (
        f"ResourceSync: error: Pelican {version} is too old ({bound.removeprefix('pelican>=')} or newer is needed): "
        "pip install --upgrade pelican"
    )


# --- An error leads to one exit status, whichever program or command it ends ---


FULL = OSError(28, "No space left on device", "/tmp")
#: The status at first, when an earlier run has begun, and when the run is repeated.
STATUSES = {
    SettingsError("a"): (2, 2, 2),
    SourceError("a"): (2, 2, 2),
    MirrorError("a"): (2, 2, 2),
    NoSourceError("a"): (2, 3, 2),
    IncompleteError("a"): (3, 3, 3),
    TransportError("a"): (2, 3, 3),
    StatusError("a", 503): (2, 3, 3),
    StatusError("a", 403): (2, 3, 2),
    AbsentError("a"): (2, 3, 2),
    DocumentError("a"): (2, 3, 3),
    SignatureError("a"): (2, 3, 2),
    not_signed("https://a.example/"): (2, 3, 3),
    PublicationError("a"): (2, 3, 2),
    StoppedError("a", 15): (143, 143, 143),
    FULL: (3, 3, 3),
    ZeroDivisionError(): (2, 2, 2),
}


@pytest.mark.parametrize(("error", "statuses"), STATUSES.items(), ids=lambda each: type(each).__name__)
def test_statuses(error: Exception, statuses: tuple[int, int, int]) -> None:
    """What may pass is incomplete, as far as it is known to pass; what the user asked for is unusable."""
    assert (explain(error)[0], explain(error, begun=True)[0], explain(error, repeated=True)[0]) == statuses


def test_messages() -> None:
    """Those of our own errors are for people already; others say what to do."""
    assert explain(SettingsError("leave it out"))[1] == "leave it out"
    assert (
        explain(FULL)[1] == "/tmp cannot be read or written: No space left on device: free disk space, and run it again"
    )
    assert explain(ZeroDivisionError("b"))[1] == "unexpected error, please report it (ZeroDivisionError: b)"


@pytest.mark.parametrize(
    ("error", "status"), [(SettingsError("a\x1b"), 2), (IncompleteError("a\x1b"), 3), (StoppedError("a\x1b", 2), 130)]
)
def test_command(capsys: pytest.CaptureFixture[str], error: Exception, status: int) -> None:
    """One line says which error ended it; an error that nobody raised on purpose is one of the program."""

    def command() -> int:
        raise error

    assert run_command("program", command) == status
    assert capsys.readouterr().err == "program: a\\x1b\n"
    error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        run_command("program", command)

"""An error leads to one exit status, whichever program or command it ends."""

import pytest

from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    IncompleteError,
    MirrorError,
    PublicationError,
    SettingsError,
    SourceError,
    StatusError,
    StoppedError,
    TransportError,
)
from pelican_resourcesync.system.exits import explain, run_command

FULL = OSError(28, "No space left on device", "/tmp")
#: The status at first, when an earlier run has begun, and when the run is repeated.
STATUSES = {
    SettingsError("a"): (2, 2, 2),
    SourceError("a"): (2, 2, 2),
    MirrorError("a"): (2, 2, 2),
    IncompleteError("a"): (3, 3, 3),
    TransportError("a"): (2, 3, 3),
    StatusError("a", 503): (2, 3, 3),
    StatusError("a", 403): (2, 3, 2),
    AbsentError("a"): (2, 3, 2),
    DocumentError("a"): (2, 3, 2),
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
        explain(FULL)[1] == "/tmp cannot be read or written (No space left on device): correct that, and run it again"
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

"""The living repository on the web: what was published of it one evening, and beside it the repository's own files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.kit.live import Ask, content, live, static, status
from tests.kit.repository.garden import NUMBERS, served_bytes
from tests.kit.repository.living import Standing

#: Where the repository's REST server answers with files, below the address.
SERVER = "/server"
CONTENT = f"{SERVER}/api/core/bitstreams/"


class Host:
    """What is served at an address: the folder of one evening, and the files that stand then and no other."""

    def __init__(self) -> None:
        """Serve nothing yet."""
        self.address = ""
        self.folder = Path()
        self.stands: Standing | None = None

    def turn_to(self, folder: Path, stands: Standing) -> None:
        """Serve another evening."""
        self.folder, self.stands = folder, stands

    def content(self, path: str) -> bytes | None:
        """Return the bytes of a file at its path, `None` where there is none for everybody."""
        number = NUMBERS.get(path.removeprefix(CONTENT).removesuffix("/content"))
        public = self.stands is not None and number is not None and number in self.stands.listed
        return served_bytes(number, self.stands.at) if public and self.stands and number is not None else None


@contextmanager
def hosted() -> Iterator[Host]:
    """Yield a host at an address of its own, which answers as the repository, or with the folder of the evening."""
    host = Host()

    def answer(ask: Ask) -> None:
        if not f"/{ask.path}".startswith(CONTENT):
            static(host.folder)(ask)
            return
        data = host.content(f"/{ask.path}")
        (status(401) if data is None else content(data, Content_Type="application/pdf"))(ask)

    with live(answer) as site:
        host.address = site.url
        yield host

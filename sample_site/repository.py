"""A small DSpace, published day by day into the output of the sample site.

Its first day is the repository of the tests with every case of the rules; the days after it are written down here.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from tests.bridge.cases import every_case, store, stored
from tests.bridge.edits import Edits
from tests.bridge.repository import Bundle, File, Thing, Value, rows_of
from tests.bridge.tables import write_sqlite

VERSION = 7

#: Where the repository would be. Nothing is there, so its files are in the packages alone.
UI_URL = "https://repository.museum.example"

SETTINGS = """\
out = "../output"                     # publish into the output of the site,
base-url = "{siteurl}"     # which is served here
database = "dspace.db"
assetstore = "assetstore"             # has the bytes of the files, for dumps
ui-url = "{ui_url}"
server-url = "{ui_url}/server"
name = "Repository of the Toll House Museum"
metadata = ["oai_dc", "mods"]
changes-by = "day"
dumps = true
archives = true
"""


def make_repository(folder: Path, siteurl: str) -> None:
    """Write the database, the assetstore and `repo_bridge.toml` into a new folder beside the output."""
    folder.mkdir()
    sample = every_case()
    for path, data in stored(sample).items():
        _keep(folder, path, data)
    write_sqlite(rows_of(sample, VERSION), VERSION, folder / "dspace.db")
    (folder / "repo_bridge.toml").write_text(SETTINGS.format(siteurl=siteurl, ui_url=UI_URL), "utf-8")


def publish_repository(folder: Path, day: str) -> None:
    """Live a day of the repository, and publish it as it stands in the evening."""
    DAYS[day](folder, Edits(day, VERSION))
    options = ["--at", f"{day}T18:00:00Z"]
    print(f"\n$ repo-bridge publish {' '.join(options)}", flush=True)
    subprocess.run([sys.executable, "-m", "repo_bridge", "publish", *options], cwd=folder, check=True)


def _first_day(_folder: Path, _edits: Edits) -> None:
    """Do nothing: it is as it is."""


def _second_day(folder: Path, edits: Edits) -> None:
    """Mend a title, replace a file, expunge an item; by their dates one opens (an embargo lapses) and one closes."""
    edits.rewrite(1, "dc.title", "A penny of Æthelstan", "09:30")
    edits.remove_file(1, 2, "10:00")
    edits.add_file(1, 1, _file(folder, 3001, "back of it, larger.pdf"), "10:05")
    edits.expunge(17)
    _do(folder, edits.statements)


def _third_day(folder: Path, edits: Edits) -> None:
    """Add an item, withdraw one; by its date one more closes."""
    title, date = Value("dc.title", "The clock in the hall", "en"), Value("dc.date.issued", "2025-06-16")
    report = Bundle(3002, files=[_file(folder, 3002, "clock.pdf")])
    edits.archive(Thing(21, metadata=[title, date], bundles=[report], collections=(1,), owner=1), "11:00")
    edits.withdraw(2, "14:00")
    _do(folder, edits.statements)


#: What happens on each day before it is published, in the evening.
DAYS: dict[str, Callable[[Path, Edits], None]] = {
    "2025-06-14": _first_day,
    "2025-06-15": _second_day,
    "2025-06-16": _third_day,
}


def _file(folder: Path, number: int, name: str) -> File:
    """Make a file whose bytes are in the assetstore."""
    file = File(number, name, format=2)
    _keep(folder, *store(file))
    return file


def _keep(folder: Path, path: str, data: bytes) -> None:
    file = folder / "assetstore" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _do(folder: Path, statements: Sequence[str]) -> None:
    with closing(sqlite3.connect(folder / "dspace.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)

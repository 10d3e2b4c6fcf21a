"""A small DSpace repository, published day by day into the output of the sample site.

On the first day it is the test repository with every case of the rules. The later days are defined here.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from sample_site.dspace.cases import every_case, store, stored
from sample_site.dspace.edits import Edits
from sample_site.dspace.repository import Bundle, File, Thing, Value, rows_of
from sample_site.dspace.tables import write_sqlite

VERSION = 7

#: The repository's URL. There is no server, so its files are only in the packages.
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
timezone = "UTC"                      # the days of embargoes and policies begin at midnight here
changes-by = "day"
dumps = true
archives = true
"""


def make_repository(folder: Path, siteurl: str) -> None:
    """Write the database, the assetstore and `repo_bridge.toml` into a new folder next to the output."""
    folder.mkdir()
    sample = every_case(closes="2025-06-15")
    for path, data in stored(sample).items():
        _keep(folder, path, data)
    write_sqlite(rows_of(sample, VERSION), VERSION, folder / "dspace.db")
    (folder / "repo_bridge.toml").write_text(SETTINGS.format(siteurl=siteurl, ui_url=UI_URL), "utf-8")


def publish_repository(folder: Path, day: str) -> None:
    """Apply a day's changes to the repository, and publish it as of that evening."""
    DAYS[day](folder, Edits(day, VERSION))
    options = ["--at", f"{day}T18:00:00Z"]
    print(f"\n$ repo-bridge publish {' '.join(options)}", flush=True)
    subprocess.run([sys.executable, "-m", "repo_bridge", "publish", *options], cwd=folder, check=True)


def _first_day(_folder: Path, _edits: Edits) -> None:
    """Do nothing: the repository stays as it is."""


def _second_day(folder: Path, edits: Edits) -> None:
    """Correct a title, replace a file, expunge an item; by date, one item opens (its embargo ends) and one closes."""
    edits.rewrite(1, "dc.title", "A penny of Æthelstan", "09:30")
    edits.remove_file(1, 2, "10:00")
    edits.add_file(1, 1, _file(folder, 3001, "back of it, larger.pdf"), "10:05")
    edits.expunge(17)
    _do(folder, edits.statements)


def _third_day(folder: Path, edits: Edits) -> None:
    """Add an item, withdraw one; by date, one more closes."""
    title, date = Value("dc.title", "The clock in the hall", "en"), Value("dc.date.issued", "2025-06-16")
    report = Bundle(3002, files=[_file(folder, 3002, "clock.pdf")])
    edits.archive(Thing(21, metadata=[title, date], bundles=[report], collections=(1,), owner=1), "11:00")
    edits.withdraw(2, "14:00")
    _do(folder, edits.statements)


#: The changes of each day, made before it is published in the evening.
DAYS: dict[str, Callable[[Path, Edits], None]] = {
    "2025-06-14": _first_day,
    "2025-06-15": _second_day,
    "2025-06-16": _third_day,
}


def _file(folder: Path, number: int, name: str) -> File:
    """Return a new file whose bytes are in the assetstore."""
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

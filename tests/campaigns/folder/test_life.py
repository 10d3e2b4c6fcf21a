"""Random lives of a folder: every publication lists what the bytes say, and whoever follows has the same files."""

import random
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.kit.folders import Folder
from tests.kit.follower import Follower
from tests.kit.live import served
from tests.kit.sites import our_command
from tests.publishers.folder.test_recipes import file_of

NAMES = [
    "index.html",
    "a/index.html",
    "a/b.html",
    "c d.txt",
    "é.html",
    "feed.xml",
    "x.pdf",
    "deep/er/e.css",
    "q%41.html",
]
SETTINGS = ["", "dumps = true", "changes_by = 'day'", "html_links = false"]


@pytest.mark.promise("Any folder")
@pytest.mark.parametrize("seed", range(4))
def test_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, seed: int) -> None:
    """Files come, change and go; a mirror and an independent follower are in step after each publication."""
    dice = random.Random(seed)
    folder, www, clock = Folder(tmp_path / "work"), tmp_path / "www", datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
    model: dict[str, str] = {"index.html": "<html><head></head>0</html>"}
    dates: dict[str, str] = {}
    with served(www) as folder.url:
        follower = Follower(folder.url)
        for number in range(60 if request.config.getoption("--long") else 8):
            clock += timedelta(hours=dice.choice([1, 30, 800]))
            before = dict(model)
            for name in dice.sample(NAMES, dice.randint(0, 4)):
                if name in model and dice.random() < 0.4 and len(model) > 1:
                    del model[name]
                else:
                    model[name] = f"<html><head></head>{dice.randrange(3)}</html>"
            shutil.rmtree(folder.public, ignore_errors=True)
            if www.is_dir():  # as it is live
                for kept in ("resourcesync", ".well-known"):
                    shutil.copytree(www / kept, folder.public / kept)
            folder.write(dict(model))
            folder.configure(f"allow_deletions = true\n{SETTINGS[seed % len(SETTINGS)]}")
            monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(clock.timestamp())))
            folder.run()
            monkeypatch.delenv("SOURCE_DATE_EPOCH")
            time = clock.isoformat().replace("+00:00", "Z")
            changed = [] if number == 0 else [name for name in model if model[name] != before.get(name)]
            dates = {name: dates[name] for name in model if name in dates} | dict.fromkeys(changed, time)
            listed = {file_of(path): each.lastmod for path, each in folder.listed().items()}
            assert listed == {name: dates.get(name) for name in model}
            shutil.rmtree(www, ignore_errors=True)
            shutil.copytree(folder.public, www)
            published = {name: (www / name).read_bytes() for name in model}
            our_command(tmp_path, "mirror", folder.url, "copy")
            assert files_of(tmp_path / "copy") == published
            assert (follower.baseline if number == 0 else follower.incremental)() == []
            held = {file_of(uri.removeprefix(f"{folder.url}/")): data for uri, data in follower.held.items()}
            assert held == published
        checked = our_command(tmp_path, "check", "www", "--deep").stdout
        assert "conforming: 0 errors, 0 warnings" in checked


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a copy by path, without its state."""
    files = (each for each in folder.rglob("*") if each.is_file())
    found = {each.relative_to(folder).as_posix(): each.read_bytes() for each in files}
    return {path: data for path, data in found.items() if not path.startswith(".")}

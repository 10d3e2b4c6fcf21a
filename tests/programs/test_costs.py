"""What publishing may cost, by counted work: `make bench` measures time."""

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from pelican_resourcesync.publishers.pelican.session import Publisher, Session
from pelican_resourcesync.publishers.static_site import PublishResult
from tests.kit.sites import Site, public_files, strip
from tests.kit.work import Work, counted
from tests.tools.bench.sites import edit, make_site


def publishing(site: Site) -> Work:
    """Build a site, and return the work of publishing alone."""
    found: list[Work] = []
    publish = Session.publish

    def count(session: Session) -> None:
        with counted() as work:
            publish(session)
        found.append(work)

    with patch.object(Session, "publish", count):
        site.build()
    [work] = found
    return work


@pytest.mark.parametrize("articles", [8, 24])
def test_work_of_a_publication(tmp_path: Path, articles: int) -> None:
    """First, again, and after an edit: a few processes, however long the history, and no file is opened often.

    Of the history, a publication reads in full only what the one before has not.
    """
    site = make_site(tmp_path / "site", articles * 3, articles)
    files = len(public_files(_built(site)))
    for commands in (6, 4, 5):
        if commands == 5:
            edit(site)
        work = publishing(site)
        git = [command for command in work.started if command != ["git", "version"]]
        inside = {path: count for path, count in work.opened.items() if site.output in path.parents}
        inside[site.output / "index.html"] -= 1  # once more for its icon and colour
        opened = [count for path, count in inside.items() if "resourcesync" not in str(path.relative_to(site.output))]
        assert len(git) <= commands, git
        assert len(opened) >= files
        assert max(opened) <= 3
        assert sum(opened) <= 3 * files
    assert git[-1][-2].endswith("..HEAD"), "more was read than the new commits"


def _built(site: Site) -> Path:
    site.build(PLUGINS=[], OUTPUT_PATH="plain")
    return site.folder / "plain"


def test_made_site_is_what_it_says(tmp_path: Path) -> None:
    """The history that is measured is the same each time, and has all that it is to have."""
    one, other = (make_site(tmp_path / name, 300, 60) for name in ("one", "other"))
    assert one.git("rev-parse", "main") == other.git("rev-parse", "main")
    assert one.git("rev-list", "--count", "main") == "300"
    articles = [path for path in one.git("ls-files", "content/*.md").split("\n") if "/pages/" not in path]
    assert len(articles) == 60
    kinds = set(one.git("log", "--no-renames", "--format=", "--name-status").replace("\t", "\n").split("\n"))
    assert {"A", "M", "D"} <= kinds


def test_what_pelican_holds_is_not_examined_again(tmp_path: Path) -> None:
    """While a site is published, the garbage collector leaves alone what was there before, and not afterwards."""
    site = make_site(tmp_path / "site", 4, 2)
    frozen: list[int] = []
    publish = Publisher.publish

    def count(publisher: Publisher, on_packed: Callable[[int], None]) -> PublishResult:
        frozen.append(gc.get_freeze_count())
        return publish(publisher, on_packed)

    with patch.object(Publisher, "publish", count):
        site.build()
    assert frozen[0] > 10_000
    assert gc.get_freeze_count() == 0


def test_what_a_build_imports(tmp_path: Path) -> None:
    """A build that publishes nothing imports hardly anything of ours, also where the output has documents to keep."""
    site = strip(Site.create(tmp_path / "site"))
    site.article("first.md", at="2024-01-01T00:00:00Z")
    heavy = {"git", "pelican_resourcesync.protocol"}  # which imports lxml; other plug-ins here may do so, too
    assert heavy <= _imported(site)
    assert (site.output / "resourcesync").is_dir()
    site.configure(SITEURL="")
    imported = _imported(site)
    assert not heavy & imported
    assert len([each for each in imported if each.startswith("pelican_resourcesync.")]) < 10
    assert (site.output / "resourcesync").is_dir()


def _imported(site: Site) -> set[str]:
    """Build a site in a process of its own, and return the modules that were imported."""
    code = "import sys; sys.argv = ['pelican', '--quiet']; import pelican; pelican.main(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=site.folder, check=True, capture_output=True, encoding="utf-8"
    )
    return {*done.stdout.splitlines()[-1].split()}

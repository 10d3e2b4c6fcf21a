"""The order in which to upload: the command of the docs, run by rsync, never lets a name lead nowhere."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kit.follower import Follower
from tests.kit.live import served
from tests.kit.museum import tree
from tests.kit.reader import parse
from tests.kit.sites import ROOT, Site, import_sample_site, our_command

SITEURL = "https://museum.example"


def commands(output: Path, target: Path) -> list[tuple[str, list[str]]]:
    """Return the commands of the docs, for these folders, each with its input: those of the loop, and the last one."""
    pattern = (
        r"```sh\nfor step in (.*?); do\n  pelican-resourcesync (.*?) \| (rsync .*?) \|\| exit\ndone\n(rsync .*?)\n```"
    )
    ((steps, order, copy, last),) = re.findall(pattern, (ROOT / "docs/publication.md").read_text("utf-8"))
    folders = {"output": str(output), "output/": f"{output}/", "HOST:FOLDER/": f"{target}/"}

    def words(command: str, step: str = "") -> list[str]:
        return [folders.get(word, word) for word in shlex.split(command.replace("$step", step))]

    files = (our_command(output.parent, *words(order, step)).stdout for step in steps.split())
    return [*((each, words(copy)) for each in files), ("", words(last))]


def dead_names(public: Path, siteurl: str = SITEURL) -> list[str]:
    """Walk all that is named, from the entry points on, and give what is not there."""
    waiting, seen, dead = ["resourcesync/description.xml", ".well-known/resourcesync"], set(), []
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        file = public / path
        if not file.is_file():
            dead.append(path)
        elif path.endswith(".xml") or path.startswith(".well-known"):
            document = parse(file.read_bytes())
            names = [entry.uri for entry in document.entries if "/resourcesync/" in entry.uri]
            names += re.findall(r'href="([^"]*/resourcesync/[^"]+)"', file.read_text("utf-8"))
            waiting += [name.removeprefix(f"{siteurl}/") for name in [*names, *document.links.values()]]
    return dead


@pytest.mark.promise("In order")
@pytest.mark.parametrize("everything", [False, True], ids=["lists", "everything"])
def test_each_step_of_an_upload_leaves_no_name_that_leads_nowhere(tmp_path: Path, *, everything: bool) -> None:
    """Three publications, with new Change Lists and pages less: step by step, and then all is there."""
    if not shutil.which("rsync"):
        pytest.skip("rsync is not installed, so the command of docs/publication.md is not tried")
    site, public = import_sample_site(tmp_path / "site", until="main~10"), tmp_path / "public"
    settings = {"dumps": True, "archives": True, "versions": True} if everything else {}
    public.mkdir()
    upload(site, public, settings)
    with served(public) as address:
        follower = Follower(address, SITEURL)
        assert follower.baseline() == []
        for revision in ("main~7", "main"):
            site.git("checkout", "-q", revision)
            upload(site, public, settings)
            assert follower.incremental() == []
            assert [fault for fault in follower.audit() if "the copy is of" not in fault] == []


def upload(site: Site, public: Path, settings: dict[str, bool]) -> None:
    """Build, and upload step by step; the first publication has no entry point until the sixth step."""
    site.build(DELETE_OUTPUT_DIRECTORY=True, RESOURCESYNC={"previous": "output", **settings})
    first = not any(public.iterdir())
    for step, (paths, command) in enumerate(commands(site.output, public), start=1):
        before = {path: data for path, (data, _) in tree(public).items()}
        subprocess.run(command, input=paths.encode(), check=True)
        now = {path: data for path, (data, _) in tree(public).items()}
        entry_points = {
            path for path in now if path.count("/") == 1 and "resourcesync" in path and not path.endswith(".html")
        }
        if step < 6:
            assert all(now[path] == before.get(path) for path in entry_points)
        if step < 8:
            assert before.keys() <= now.keys()
        assert (first and step < 6) or dead_names(public) == []
    assert now == {path: data for path, (data, _) in tree(site.output).items()}

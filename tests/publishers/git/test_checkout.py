"""Checkouts: each commit's tree as a checkout has it, submodules too, and nothing of another commit."""

from pathlib import Path

import pytest

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.publishers.git import STAMP, Checkouts
from tests.kit.backfills import documents, worktrees
from tests.kit.sites import Site
from tests.publishers.git.repositories import T, add_submodule, repository, update_submodule


def test_submodules_of_then(tmp_path: Path) -> None:
    """A submodule is as the commit names it, from this machine alone, also where it was removed since."""
    module = repository(tmp_path / "module")
    module.write("note.md", "One", at=T[1])
    site = repository(tmp_path / "site")
    add_submodule(site, module, "notes")
    site.commit(T[2])
    first = site.head
    module.write("note.md", "Two", at=T[3])
    update_submodule(site, "notes")
    site.commit(T[4])
    second = site.head
    site.git("rm", "-q", "notes")
    site.commit(T[5])
    third = site.head
    module.folder.rename(tmp_path / "gone")
    configured = (site.folder / ".git" / "config").read_bytes()
    with Checkouts(site.folder, tmp_path) as checkouts:
        tree = checkouts.add("tree", first)
        for sha, text in ((first, "One"), (second, "Two"), (third, None), (first, "One")):
            tree.turn_to(sha)
            (tree.top / "built").write_text("left")
            note = tree.top / "notes" / "note.md"
            assert (note.read_text() if note.exists() else None) == text
    assert (site.folder / ".git" / "config").read_bytes() == configured
    assert worktrees(site) == []


def test_one_commit_after_another(tmp_path: Path) -> None:
    """What a build changed, left or hid is gone; all files are of one date; no hook is run."""
    site = Site(repository(tmp_path / "site").folder)
    site.write("one.txt", "One")
    site.write(".gitignore", "ignored\n")
    site.commit(T[1])
    first = site.head
    site.write("one.txt", "Two")
    site.write("folder/\n \u20ac.txt", "More")
    site.commit(T[2])
    second = site.head
    hook = site.write(".git/hooks/post-checkout", f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    with Checkouts(site.folder, tmp_path) as checkouts:
        tree = checkouts.add("tree", second)
        tree.turn_to(second)
        assert set(documents(tree.top)) == {".git", ".gitignore", "one.txt", "folder/\n \u20ac.txt"}
        tree.top.joinpath("one.txt").write_text("Six")
        tree.top.joinpath("ignored").write_text("left")
        tree.turn_to(first)
        assert set(documents(tree.top)) == {".git", ".gitignore", "one.txt"}
        assert tree.top.joinpath("one.txt").read_text() == "One"
        assert tree.top.joinpath("one.txt").stat().st_mtime == STAMP
        with pytest.raises(HistoryError, match="git cannot check it out"):
            tree.turn_to("0" * 40)
    assert not (tmp_path / "hooked").exists()
    assert site.git("status", "--porcelain") == ""

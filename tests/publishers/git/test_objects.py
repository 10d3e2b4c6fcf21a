"""Objects that are not what they seem: replaced, grafted, kept by Git LFS, named by SHA-256."""

import subprocess
from pathlib import Path

import pytest

from tests.kit.sites import Row, Site, strip
from tests.publishers.git.repositories import NOW, T, bare, built, dated, said

IMAGES = {"STATIC_PATHS": ["images"], "ARTICLE_EXCLUDES": ["images"], "DEFAULT_METADATA": {"category": "misc"}}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a site of contents alone."""
    return bare(tmp_path / "site", **IMAGES)


# --- replaced and grafted ----------------------------------------------------


@pytest.fixture
def edited(site: Site) -> Site:
    """Return a site with three commits of one article."""
    for day, text in ((2, "One."), (3, "Two."), (4, "Three.")):
        site.article("a.md", "Title", text, at=T[day])
    return site


EDITED: list[Row] = [
    (T[2], "created", "/title.html"),
    (T[3], "updated", "/title.html"),
    (T[4], "updated", "/title.html"),
]


def test_replaced_commit(edited: Site) -> None:
    """`git replace` is of one machine, and a clone knows nothing of it: the history is the same as everywhere."""
    second = edited.git("rev-parse", "HEAD~1")
    other = edited.git("commit-tree", "-m", "x", "-p", f"{second}^", "HEAD^{tree}", **dated("2020-01-01T00:00:00Z"))
    edited.git("replace", second, other)
    assert "2020-01-01" in edited.git("log", "--format=%cI")
    assert built(edited) == EDITED


def test_graft_that_joins_histories(edited: Site) -> None:
    """A graft that puts another history before the first commit tells nothing of that; nor does the old form of it."""
    edited.git("checkout", "-q", "--orphan", "past")
    edited.git("rm", "-rfq", ".")
    edited.article("past.md", "Past")
    edited.commit("2020-01-01T10:00:00Z")
    past = edited.head
    edited.git("checkout", "-q", "main")
    root = edited.git("rev-list", "--max-parents=0", "main")
    edited.git("replace", "--graft", root, past)
    assert edited.git("rev-list", "--count", "HEAD") == "5"
    assert built(edited) == EDITED
    edited.git("replace", "-d", root)
    (edited.folder / ".git" / "info").mkdir(exist_ok=True)
    (edited.folder / ".git" / "info" / "grafts").write_text(f"{root} {past}\n")
    assert edited.git("rev-list", "--count", "HEAD") == "5"
    assert built(edited) == EDITED


# --- unreadable --------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b"damaged", None], ids=["empty", "damaged", "missing"])
def test_blob_that_cannot_be_read(edited: Site, damage: bytes | None) -> None:
    """Its page would seem to begin later, so nothing is listed but with a warning; what is mended later is added."""
    name = edited.git("rev-parse", "HEAD~1:content/a.md")
    file = edited.folder / ".git" / "objects" / name[:2] / name[2:]
    good = file.read_bytes()
    file.chmod(0o600)
    file.write_bytes(damage) if damage is not None else file.unlink()
    [warning] = said(edited)
    assert "git cannot read past versions of 1 source, such as content/a.md, so no changes from before" in warning
    edited.article("a.md", "Title", "Four.", at=T[5])
    assert [each[:40] for each in said(edited, anew=False)] == [warning[:40]]
    assert edited.changes() == [(T[5], "updated", "/title.html")]
    file.write_bytes(good)
    last = ("2024-01-04T09:59:59Z", "updated", "/title.html")
    assert built(edited, anew=False) == [*EDITED[:2], last, (T[5], "updated", "/title.html")]


@pytest.mark.parametrize("revision", ["HEAD~2", "HEAD~2^{tree}", "HEAD~2:content"])
def test_commit_or_tree_that_cannot_be_read(edited: Site, revision: str) -> None:
    """What is there is published, with a warning; when git can read it again, the past is added."""
    name = edited.git("rev-parse", revision)
    file = edited.folder / ".git" / "objects" / name[:2] / name[2:]
    file.rename(edited.folder / ".git" / "away")
    [warning] = said(edited)
    assert warning.startswith(f"git cannot read the history of {edited.folder} (")
    assert warning.endswith(". Until then, no changes from before the first publication are listed")
    edited.article("a.md", "Title", "Four.", at=T[5])
    assert said(edited, anew=False)
    assert edited.changes() == [(T[5], "updated", "/title.html")]
    (edited.folder / ".git" / "away").rename(file)
    last = ("2024-01-04T09:59:59Z", "updated", "/title.html")
    assert built(edited, anew=False) == [*EDITED[:2], last, (T[5], "updated", "/title.html")]


def test_removed_blob_that_cannot_be_read(edited: Site) -> None:
    """After the first publication, a warning says that the time of the deletion is not known better."""
    edited.article("b.md", "Other", at=T[5])
    built(edited)
    name = edited.git("rev-parse", "HEAD:content/b.md")
    edited.remove("content/b.md", at=T[6])
    edited.article("a.md", "Title", "Four.", at=T[7])
    (edited.folder / ".git" / "objects" / name[:2] / name[2:]).unlink()
    assert "so deletions of their pages have the time of the commit that was built" in said(edited, anew=False)[0]
    assert (T[7], "deleted", "/other.html") in edited.changes()


# --- Git LFS -----------------------------------------------------------------


def lfs(site: Site, pattern: str) -> None:
    """Say that Git LFS keeps the files of a pattern, with a filter that does in this test what Git LFS does."""
    store = site.folder / ".git" / "lfs" / "objects"
    script = site.folder / ".git" / "filter.sh"
    script.write_text(
        'if [ "$1" = smudge ]; then oid=$(sed -n "s/^oid sha256://p")\n'
        f'cat "{store}/$(echo "$oid" | cut -c1-2)/$(echo "$oid" | cut -c3-4)/$oid"\n'
        'else cat > "$0.tmp"; oid=$(sha256sum < "$0.tmp" | cut -d" " -f1)\n'
        f'mkdir -p "{store}/$(echo "$oid" | cut -c1-2)/$(echo "$oid" | cut -c3-4)"\n'
        f'cp "$0.tmp" "{store}/$(echo "$oid" | cut -c1-2)/$(echo "$oid" | cut -c3-4)/$oid"\n'
        'printf "version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n" "$oid" '
        '"$(wc -c < "$0.tmp")"; fi\n'
    )
    site.git("config", "filter.lfs.clean", f"sh {script} clean")
    site.git("config", "filter.lfs.smudge", f"sh {script} smudge")
    site.write(".gitattributes", f"{pattern} filter=lfs\n")


def test_static_file_in_lfs(site: Site) -> None:
    """A static file changes when its pointer does: its bytes are never needed."""
    lfs(site, "*.png")
    for day, data in ((2, b"one"), (3, b"two"), (4, b"two")):
        site.write("content/images/a.png", data, at=T[day])
    assert site.git("show", "HEAD:content/images/a.png").startswith("version https://git-lfs")
    for file in (site.folder / ".git" / "lfs").rglob("*"):
        if file.is_file():
            file.unlink()
    assert built(site) == [(T[2], "created", "/images/a.png"), (T[3], "updated", "/images/a.png")]


def test_article_in_lfs(site: Site) -> None:
    """An article of today that Git LFS keeps is created with its last state; earlier ones are left out."""
    lfs(site, "content/*.md")
    for day, title in ((2, "One"), (3, "Two"), (4, "Three")):
        site.article("a.md", title, at=T[day])
    assert built(site) == [(T[4], "created", "/three.html")]
    assert said(site) == []


# --- SHA-256 -----------------------------------------------------------------


@pytest.fixture
def long_names(tmp_path: Path) -> Site:
    """Return a site in a repository whose objects have names of 64 digits."""
    subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path / "site"], check=True)
    site = strip(Site.create(tmp_path / "site", **IMAGES))
    site.commit(T[1])
    assert len(site.git("rev-parse", "HEAD")) == 64
    return site


def test_sha256(long_names: Site) -> None:
    """A SHA-256 repository is a repository: past titles, settings, what is not committed."""
    long_names.article("a.md", "One")
    long_names.write("content/images/a.png", "image")
    long_names.commit(T[2])
    long_names.article("a.md", "Two", at=T[3])
    long_names.configure(PAGE_URL="p/{slug}.html", PAGE_SAVE_AS="p/{slug}.html")
    long_names.remove("content/images/a.png")
    long_names.commit(T[4])
    long_names.article("a.md", "Two", "Not committed.")
    assert built(long_names) == [
        (T[2], "created", "/two.html"),
        (T[3], "updated", "/two.html"),
        (NOW, "updated", "/two.html"),
    ]

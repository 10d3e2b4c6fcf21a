"""Symbolic links among the sources: Pelican follows them, so the history of what they lead to is theirs."""

from pathlib import Path

import pytest

from tests.git.repositories import NOW, T, add_submodule, bare, built, link, repository, said, unknown, update_submodule
from tests.sites import Site

IMAGES = {"STATIC_PATHS": ["images"], "ARTICLE_EXCLUDES": ["images"]}
LINKED = "Title: Linked\nDate: 2024-01-01\n\n{}\n"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Give a site of contents alone."""
    return bare(tmp_path / "site", **IMAGES)


def test_link_to_a_file(site: Site) -> None:
    """The page of a link changes with the file that it leads to, which may lie beside the sources."""
    site.article("a.md", "One")
    site.write("README.md", LINKED.format("One."))
    site.commit(T[2])
    link(site, "content/about.md", "../README.md")
    site.commit(T[3])
    site.write("README.md", LINKED.format("Two."))
    site.commit(T[4])
    site.write("NEWS.md", "Of no source.")
    site.commit(T[5])
    site.remove("content/about.md")
    site.commit(T[6])
    site.write("README.md", LINKED.format("Three."))
    site.commit(T[7])
    assert built(site)[1:] == [
        (T[3], "created", "/linked.html"),
        (T[4], "updated", "/linked.html"),
        (T[6], "deleted", "/linked.html"),
    ]


def test_link_that_leads_elsewhere(site: Site) -> None:
    """A link that is turned to another file shows that, and changes with it from then on."""
    site.write("docs/a.md", LINKED.format("A."))
    site.write("docs/b.md", LINKED.format("B."))
    site.write("docs/same.md", LINKED.format("B."))
    link(site, "content/about.md", "../docs/a.md")
    site.commit(T[2])
    link(site, "content/about.md", "../docs/b.md")
    site.commit(T[3])
    site.write("docs/a.md", LINKED.format("A again."))
    site.commit(T[4])
    link(site, "content/about.md", "../docs/same.md")
    site.commit(T[5])
    site.write("docs/same.md", LINKED.format("The same no more."))
    site.commit(T[6])
    assert built(site) == [
        (T[2], "created", "/linked.html"),
        (T[3], "updated", "/linked.html"),
        (T[6], "updated", "/linked.html"),
    ]


def test_link_to_a_folder(site: Site) -> None:
    """Everything below the folder is a source below the link: edits, additions, losses and a turn of the link."""
    site.article("a.md", "One")
    site.write("shared/old/a.png", "a")
    site.write("shared/old/deep/b.png", "b")
    site.write("shared/new/a.png", "a")
    site.write("shared/new/c.png", "c")
    site.commit(T[2])
    link(site, "content/images", "../shared/old")
    site.commit(T[3])
    site.write("shared/old/a.png", "a changed")
    site.write("shared/old/d.png", "d")
    site.remove("shared/old/deep/b.png")
    site.commit(T[4])
    site.write("shared/old/a.png", "a")
    site.commit(T[5])
    link(site, "content/images", "../shared/new")
    site.commit(T[6])
    site.remove("content/images")
    site.commit(T[7])
    assert built(site)[1:] == [
        (T[3], "created", "/images/a.png"),
        (T[3], "created", "/images/deep/b.png"),
        (T[4], "updated", "/images/a.png"),
        (T[4], "created", "/images/d.png"),
        (T[4], "deleted", "/images/deep/b.png"),
        (T[5], "updated", "/images/a.png"),
        (T[6], "created", "/images/c.png"),
        (T[6], "deleted", "/images/d.png"),
        (T[7], "deleted", "/images/a.png"),
        (T[7], "deleted", "/images/c.png"),
    ]


def test_link_through_links(site: Site) -> None:
    """A link to a link, or through one, follows every turn on its way."""
    site.write("v1/about.md", LINKED.format("One."))
    site.write("v2/about.md", LINKED.format("Two."))
    link(site, "current", "v1")
    link(site, "about", "./current//about.md")
    link(site, "content/about.md", "../about")
    site.commit(T[2])
    link(site, "current", "v2")
    site.commit(T[3])
    site.write("v1/about.md", LINKED.format("Nobody sees this."))
    site.commit(T[4])
    site.write("v2/about.md", LINKED.format("Three."))
    site.commit(T[5])
    assert built(site) == [
        (T[2], "created", "/linked.html"),
        (T[3], "updated", "/linked.html"),
        (T[5], "updated", "/linked.html"),
    ]


def test_link_within_a_linked_folder(site: Site) -> None:
    """A file is seen at every path that leads to it, whichever link came first."""
    site.write("pool/a.png", "a")
    link(site, "shared/pool", "../pool")
    link(site, "content/images", "../shared")
    site.commit(T[2])
    site.write("pool/a.png", "a changed")
    site.commit(T[3])
    link(site, "shared/more", "../pool")
    link(site, "shared/one.png", "pool/a.png")
    site.commit(T[4])
    site.write("pool/b.png", "b")
    site.commit(T[5])
    site.remove("shared/pool")
    site.commit(T[6])
    assert built(site) == [
        (T[2], "created", "/images/pool/a.png"),
        (T[3], "updated", "/images/pool/a.png"),
        (T[4], "created", "/images/more/a.png"),
        (T[4], "created", "/images/one.png"),
        (T[5], "created", "/images/more/b.png"),
        (T[5], "created", "/images/pool/b.png"),
        (T[6], "deleted", "/images/one.png"),
        (T[6], "deleted", "/images/pool/a.png"),
        (T[6], "deleted", "/images/pool/b.png"),
    ]


def test_links_within_the_sources(site: Site) -> None:
    """A link beside what it leads to, and links below that, show the same sources at more paths."""
    site.configure(STATIC_PATHS=["de", "en"], ARTICLE_EXCLUDES=["de", "en"])
    site.write("content/de/a.png", "a")
    link(site, "content/de/b.png", "a.png")
    link(site, "content/en", "de")
    site.commit(T[2])
    site.write("content/de/a.png", "a changed")
    site.commit(T[3])
    site.remove("content/de/b.png")
    site.commit(T[4])
    paths = ["/de/a.png", "/de/b.png", "/en/a.png", "/en/b.png"]
    assert built(site) == [
        *((T[2], "created", path) for path in paths),
        *((T[3], "updated", path) for path in paths),
        *((T[4], "deleted", path) for path in paths if "b" in path),
    ]


def test_link_and_file_exchanged(site: Site) -> None:
    """A link that becomes a copy of what it led to is no change, nor is the way back; an edit on the way is one."""
    site.write("README.md", LINKED.format("One."))
    link(site, "content/about.md", "../README.md")
    site.commit(T[2])
    site.remove("content/about.md")
    site.write("content/about.md", LINKED.format("One."))
    site.commit(T[3])
    site.write("README.md", LINKED.format("Two."))
    site.commit(T[4])
    site.write("content/about.md", LINKED.format("Three."))
    site.commit(T[5])
    link(site, "content/about.md", "../README.md")
    site.commit(T[6])
    assert built(site) == [
        (T[2], "created", "/linked.html"),
        (T[5], "updated", "/linked.html"),
        (T[6], "updated", "/linked.html"),
    ]


def test_folder_and_link_exchanged(site: Site) -> None:
    """A folder that moves away and leaves a link in its place changes nothing; nor does its return."""
    site.write("content/images/a.png", "a")
    site.write("content/images/b/c.png", "c")
    site.commit(T[2])
    site.git("mv", "content/images", "assets")
    link(site, "content/images", "../assets")
    site.commit(T[3])
    site.write("assets/b/c.png", "c changed")
    site.commit(T[4])
    site.remove("content/images")
    site.git("rm", "-q", "--cached", "content/images")
    site.git("mv", "assets", "content/images")
    site.commit(T[5])
    assert built(site) == [
        (T[2], "created", "/images/a.png"),
        (T[2], "created", "/images/b/c.png"),
        (T[4], "updated", "/images/b/c.png"),
    ]


def test_broken_link_that_is_mended(site: Site) -> None:
    """A link to nothing is nothing, until there is something; and when that goes, nothing again."""
    link(site, "content/images/a.png", "../../assets/a.png")
    link(site, "content/images/all", "../../assets")
    site.commit(T[2])
    site.write("assets/a.png", "a")
    site.commit(T[3])
    site.remove("assets/a.png")
    site.write("assets/b.png", "b")
    site.commit(T[4])
    (site.folder / "content/images/a.png").unlink()
    site.commit(T[5])
    assert built(site) == [
        (T[3], "created", "/images/a.png"),
        (T[3], "created", "/images/all/a.png"),
        (T[4], "deleted", "/images/a.png"),
        (T[4], "deleted", "/images/all/a.png"),
        (T[4], "created", "/images/all/b.png"),
    ]


def test_link_out_of_the_repository(site: Site, tmp_path: Path) -> None:
    """What lies outside has no history here: its page counts as there with the settings, and its past is not read."""
    outside = tmp_path / "outside.md"
    outside.write_text(LINKED.format("Outside."))
    link(site, "content/relative.md", "../../outside.md")
    link(site, "content/gone.md", str(outside))
    site.article("a.md", "One")
    site.commit(T[2])
    site.remove("content/gone.md")
    site.commit(T[3])
    assert built(site) == [(T[1], "created", "/linked.html"), (T[2], "created", "/one.html")]
    assert said(site) == [unknown(2)]


def test_link_to_what_git_does_not_know(site: Site) -> None:
    """What a link leads to may be ignored by git: of unknown origin, like every such file."""
    site.write(".gitignore", "output/\n__pycache__/\ngenerated/\n")
    site.write("generated/a.png", "a")
    link(site, "content/images", "../generated")
    site.commit(T[2])
    assert built(site) == [(T[1], "created", "/images/a.png")]


def test_link_into_itself(site: Site) -> None:
    """A link to a folder that it lies in, and links to each other, stop nothing."""
    site.article("a.md", "One")
    link(site, "content/images/round", "../images")
    link(site, "content/b.md", "c.md")
    link(site, "content/c.md", "b.md")
    site.commit(T[2])
    for path in ("content/images/round", "content/b.md", "content/c.md"):
        site.remove(path)
    site.article("a.md", "One", "Changed.")
    site.commit(T[3])
    assert built(site) == [(T[2], "created", "/one.html"), (T[3], "updated", "/one.html")]


def test_theme_through_links(site: Site) -> None:
    """What a theme's links lead to is a part of the theme: pages show it, static files are it."""
    site.configure(THEME_STATIC_PATHS=["static"])
    site.article("a.md", "One")
    link(site, "theme/static", "../assets")
    site.write("assets/a.css", "one")
    site.write("theme/templates/base.html", "unused")
    site.commit(T[2])
    site.write("assets/a.css", "two")
    site.commit(T[3])
    assert built(site) == [
        (T[2], "created", "/one.html"),
        (T[2], "created", "/theme/a.css"),
        (T[3], "updated", "/one.html"),
        (T[3], "updated", "/theme/a.css"),
    ]


def test_sources_below_a_link_of_the_past(site: Site) -> None:
    """Where the folder of the sources was itself a link, what it led to was the sources."""
    site.write("de/a.md", "Title: One\nDate: 2024-01-01\n\nText.\n")
    (site.folder / "content").rmdir()
    link(site, "content", "de")
    site.commit(T[2])
    site.write("de/a.md", "Title: One\nDate: 2024-01-01\n\nChanged.\n")
    site.commit(T[3])
    site.remove("content")
    site.git("rm", "-q", "--cached", "content")
    site.git("mv", "de", "content")
    site.commit(T[4])
    assert built(site) == [(T[2], "created", "/one.html"), (T[3], "updated", "/one.html")]


def test_link_into_a_submodule(site: Site, tmp_path: Path) -> None:
    """A link may lead into a submodule that lies beside the sources."""
    module = repository(tmp_path / "module")
    module.write("docs/a.md", LINKED.format("One."))
    module.commit(T[2])
    inner = add_submodule(site, module, "vendor/lib")
    site.commit(T[3])
    link(site, "content/about.md", "../vendor/lib/docs/a.md")
    site.commit(T[4])
    inner.write("docs/a.md", LINKED.format("Two."))
    inner.git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qam", "Two")
    site.commit(T[5])
    inner.write("docs/a.md", LINKED.format("Three."))
    assert built(site) == [
        (T[4], "created", "/linked.html"),
        (T[5], "updated", "/linked.html"),
        (NOW, "updated", "/linked.html"),
    ]


def test_link_to_a_folder_with_a_submodule(site: Site, tmp_path: Path) -> None:
    """What is seen through a link may be a folder of which a submodule is a part."""
    module = repository(tmp_path / "module")
    module.write("a.png", "a")
    module.commit(T[1])
    add_submodule(site, module, "vendor/lib")
    site.write("vendor/b.png", "b")
    site.commit(T[2])
    link(site, "content/images", "../vendor")
    site.commit(T[3])
    module.write("a.png", "a changed")
    module.commit(T[3])
    update_submodule(site, "vendor/lib")
    site.commit(T[4])
    site.write("vendor/lib/a.png", "a not committed")
    assert built(site) == [
        (T[3], "created", "/images/b.png"),
        (T[3], "created", "/images/lib/a.png"),
        (T[4], "updated", "/images/lib/a.png"),
        (NOW, "updated", "/images/lib/a.png"),
    ]


def test_uncommitted_links(site: Site) -> None:
    """What a link shows that is new, turned or gone, or whose file is changed, lands with the build."""
    for name in ("kept", "turned", "lost"):
        site.write(f"docs/{name}.md", LINKED.format(name).replace("Linked", name))
        link(site, f"content/{name}.md", f"../docs/{name}.md")
    site.write("docs/pool/a.png", "a")
    site.commit(T[2])
    site.write("docs/kept.md", LINKED.format("Changed.").replace("Linked", "kept"))
    site.write("docs/other.md", LINKED.format("Other.").replace("Linked", "turned"))
    link(site, "content/turned.md", "../docs/other.md")
    site.remove("content/lost.md")
    link(site, "content/images", "../docs/pool")
    link(site, "content/broken", "../docs/none")
    assert built(site) == [
        (T[2], "created", "/kept.html"),
        (T[2], "created", "/lost.html"),
        (T[2], "created", "/turned.html"),
        (NOW, "created", "/images/a.png"),
        (NOW, "updated", "/kept.html"),
        (NOW, "deleted", "/lost.html"),
        (NOW, "updated", "/turned.html"),
    ]


def test_uncommitted_work_below_linked_folders(site: Site) -> None:
    """An edit, an addition and a loss in a folder that a link leads to are all seen through it; a turned one too."""
    for name in ("a", "b"):
        site.write(f"pool/{name}.png", name)
        site.write(f"old/{name}.png", name)
    link(site, "content/images/pool", "../../pool")
    link(site, "content/images/turned", "../../old")
    site.commit(T[2])
    site.write("pool/a.png", "a changed")
    site.remove("pool/b.png")
    site.write("pool/c.png", "c")
    site.write("old/a.png", "a changed, which nobody sees")
    site.write("new/c.png", "c")
    link(site, "content/images/turned", "../../new")
    assert built(site)[4:] == [
        (NOW, "updated", "/images/pool/a.png"),
        (NOW, "deleted", "/images/pool/b.png"),
        (NOW, "created", "/images/pool/c.png"),
        (NOW, "deleted", "/images/turned/a.png"),
        (NOW, "deleted", "/images/turned/b.png"),
        (NOW, "created", "/images/turned/c.png"),
    ]


def test_uncommitted_link_into_itself(site: Site) -> None:
    """A link into a folder that it lies in, which Pelican follows until the system refuses, is followed once."""
    site.article("a.md", "One")
    site.commit(T[2])
    site.write("docs/pool/a.png", "a")
    link(site, "docs/pool/round", "../pool")
    link(site, "content/images", "../docs/pool")
    assert [row for row in built(site) if row[0] != T[1]] == [
        (T[2], "created", "/one.html"),
        (NOW, "created", "/images/a.png"),
    ]

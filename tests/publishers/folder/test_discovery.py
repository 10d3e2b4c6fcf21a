"""Discovery outside the documents: `robots.txt`, `Link` headers, `.nojekyll`."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.layout import Layout, well_known_reachable
from pelican_resourcesync.publishers.static_site.discovery import (
    add_discovery_files,
    add_link_headers,
    add_robots_line,
    keep_dot_folders,
)
from pelican_resourcesync.settings import Hub, Selection, SetSettings, Settings
from pelican_resourcesync.settings.checks import HEADER_FILES
from tests.kit.publications import LAYOUT, tree

SITEMAP = b"Sitemap: https://example.org/resourcesync/site/resourcelist.xml\n"
LINK = '<https://example.org/resourcesync/site/capabilitylist.xml>; rel="resourcesync"; type="application/xml"'
BLOCKS = {
    "_headers": f"# resourcesync: begin\n/*\n  Link: {LINK}\n# resourcesync: end\n".encode(),
    ".htaccess": rb"""# resourcesync: begin
<IfModule mod_headers.c>
  Header add Link "<URI>; rel=\"resourcesync\"; type=\"application/xml\""
</IfModule>
# resourcesync: end
""".replace(b"URI", b"https://example.org/resourcesync/site/capabilitylist.xml"),
}


def test_robots_without_a_file_of_the_site(tmp_path: Path) -> None:
    """DI04: a file with the one line, that all may read."""
    add_robots_line(tmp_path, LAYOUT)
    assert (tmp_path / "robots.txt").read_bytes() == SITEMAP
    assert (tmp_path / "robots.txt").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("own", "result"),
    [
        (b"User-agent: *\nDisallow:\n", b"User-agent: *\nDisallow:\n" + SITEMAP),
        (b"User-agent: *", b"User-agent: *\n" + SITEMAP),
        (b"# caf\xe9\r\n", b"# caf\xe9\r\n" + SITEMAP),
        (SITEMAP + b"User-agent: *\n", SITEMAP + b"User-agent: *\n"),
        (SITEMAP.strip() + b" \r\nUser-agent: *\r\n", SITEMAP.strip() + b" \r\nUser-agent: *\r\n"),
        (b"# " + SITEMAP, b"# " + SITEMAP + SITEMAP),
    ],
)
def test_robots_with_a_file_of_the_site(tmp_path: Path, own: bytes, result: bytes) -> None:
    """The line stands once, at the end of what the site's own file says, whose bytes stay as they are."""
    (tmp_path / "robots.txt").write_bytes(own)
    add_robots_line(tmp_path, LAYOUT)
    assert (tmp_path / "robots.txt").read_bytes() == result


@given(st.binary(max_size=40))
def test_any_bytes_of_the_site_are_kept(own: bytes) -> None:
    """Whatever the site's own files hold stays in front, and what is added is added once."""
    with TemporaryDirectory() as folder:
        output = Path(folder)
        for name in ("robots.txt", *HEADER_FILES):
            (output / name).write_bytes(own)
        for _ in range(2):
            add_robots_line(output, LAYOUT)
            add_link_headers(output, LAYOUT, HEADER_FILES)
        for name, block in {**BLOCKS, "robots.txt": SITEMAP}.items():
            assert (output / name).read_bytes() in (own + block, own + b"\n" + block)


@pytest.mark.parametrize("name", HEADER_FILES)
def test_link_header(tmp_path: Path, name: str) -> None:
    """DI03: the block that the host reads, and no other file."""
    add_link_headers(tmp_path, LAYOUT, [name])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: BLOCKS[name]}


def test_no_files_no_headers(tmp_path: Path) -> None:
    """Where no file is asked for, none is written."""
    add_link_headers(tmp_path, LAYOUT, [])
    assert tree(tmp_path) == {}


def test_headers_of_a_site_in_a_subpath(tmp_path: Path) -> None:
    """The rule covers the paths of the site, not the whole host."""
    add_link_headers(tmp_path, Layout("https://example.org/~me/blog"), ["_headers"])
    rule, header = (tmp_path / "_headers").read_text().splitlines()[1:3]
    assert rule == "/~me/blog/*"
    assert header.startswith("  Link: <https://example.org/~me/blog/resourcesync/site/capabilitylist.xml>; rel=")


def test_percent_signs_for_apache(tmp_path: Path) -> None:
    """Apache takes `%` for the beginning of a variable, and refuses the whole file; doubled, it is a percent sign."""
    add_link_headers(tmp_path, Layout("https://example.org/%7Eme"), HEADER_FILES)
    assert "<https://example.org/%%7Eme/resourcesync/" in (tmp_path / ".htaccess").read_text()
    assert "<https://example.org/%7Eme/resourcesync/" in (tmp_path / "_headers").read_text()


@pytest.mark.parametrize("name", HEADER_FILES)
def test_headers_of_another_siteurl_are_replaced(tmp_path: Path, name: str) -> None:
    """A file that is kept from build to build has one block, that of now; what stands around it stays."""
    (tmp_path / name).write_bytes(b"# first\n")
    add_link_headers(tmp_path, Layout("https://old.example"), [name])
    with (tmp_path / name).open("ab") as file:
        file.write(b"# last\n")
    add_link_headers(tmp_path, LAYOUT, [name])
    assert (tmp_path / name).read_bytes() == b"# first\n# last\n" + BLOCKS[name]


@pytest.mark.parametrize("spoiled", [bytes.rstrip, lambda data: data.replace(b"\n", b"\r\n")])
def test_headers_that_an_editor_saved(tmp_path: Path, spoiled: object) -> None:
    """A block that lost its last newline, or has those of Windows, is recognised and not doubled."""
    block = BLOCKS["_headers"]
    (tmp_path / "_headers").write_bytes(spoiled(block))  # type: ignore[operator]  # a function of bytes
    add_link_headers(tmp_path, LAYOUT, ["_headers"])
    assert (tmp_path / "_headers").read_bytes() == block


def test_a_block_without_an_end_takes_nothing_with_it(tmp_path: Path) -> None:
    """What follows a lone beginning is the site's own."""
    own = b"# resourcesync: begin\n/own\n  X-Own: 1\n"
    (tmp_path / "_headers").write_bytes(own)
    for _ in range(2):
        add_link_headers(tmp_path, LAYOUT, ["_headers"])
    assert (tmp_path / "_headers").read_bytes() == own + BLOCKS["_headers"]


def test_same_content_is_not_written(tmp_path: Path) -> None:
    """A file that says all already is left alone, even its inode."""
    add_robots_line(tmp_path, LAYOUT)
    add_link_headers(tmp_path, LAYOUT, HEADER_FILES)
    keep_dot_folders(tmp_path)
    before = {file.name: file.stat().st_ino for file in tmp_path.iterdir()}
    add_robots_line(tmp_path, LAYOUT)
    add_link_headers(tmp_path, LAYOUT, HEADER_FILES)
    keep_dot_folders(tmp_path)
    assert {file.name: file.stat().st_ino for file in tmp_path.iterdir()} == before
    assert before.keys() == {"robots.txt", "_headers", ".htaccess", ".nojekyll"}


def test_keep_dot_folders(tmp_path: Path) -> None:
    """The file is empty where we write it, and as it was where the site has one."""
    keep_dot_folders(tmp_path)
    assert (tmp_path / ".nojekyll").read_bytes() == b""
    (tmp_path / ".nojekyll").write_bytes(b"own")
    keep_dot_folders(tmp_path)
    assert (tmp_path / ".nojekyll").read_bytes() == b"own"


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    """What cannot be written is one clear error, and nothing is left over."""
    for name in ("robots.txt", "_headers"):
        (tmp_path / name).mkdir()
    with pytest.raises(PublicationError, match=r"robots\.txt cannot be written: .*: move away"):
        add_robots_line(tmp_path, LAYOUT)
    with pytest.raises(PublicationError, match=r"_headers cannot be written: .*: move away"):
        add_link_headers(tmp_path, LAYOUT, ["_headers"])
    assert tree(tmp_path) == {"robots.txt": None, "_headers": None}


@pytest.mark.parametrize(
    ("siteurl", "reachable"),
    [
        ("https://example.org", True),
        ("https://example.org/", True),
        ("https://example.org:8443", True),
        ("https://example.org/blog", False),
    ],
)
def test_well_known_reachable(siteurl: str, reachable: bool) -> None:
    """SD01: only a site without a path has its host's well-known URI."""
    assert well_known_reachable(siteurl) is reachable


@pytest.mark.parametrize("siteurl", ["https://example.org", "https://example.org/~me/blog"])
def test_headers_of_topics(tmp_path: Path, siteurl: str) -> None:
    """CN03: the topic and the feed of each set link to themselves and to the hubs; without hubs, nothing does."""
    layouts = {"site": Layout(siteurl), "news": Layout(siteurl, "news", 2)}
    sets = (SetSettings(name="site"), SetSettings(name="news", selection=Selection(types=("text/html",))))
    hubs = (Hub("https://hub.example/a%20b"), Hub("https://own.example/", fat=True))
    add_discovery_files(tmp_path, Settings(link_headers=HEADER_FILES, sets=sets), layouts)
    assert b"hub" not in (tmp_path / "_headers").read_bytes() + (tmp_path / ".htaccess").read_bytes()
    add_discovery_files(tmp_path, Settings(link_headers=HEADER_FILES, sets=sets, hubs=hubs), layouts)
    paths = [
        f"resourcesync/{name}" for name in ("site/notification.xml", "site/changes.atom", "news/2/notification.xml")
    ]
    base = siteurl.removeprefix("https://example.org")
    known = ', <https://hub.example/a%20b>; rel="hub", <https://own.example/>; rel="hub"'
    rules = (tmp_path / "_headers").read_text().splitlines()
    for path in paths:
        assert rules[rules.index(f"{base}/{path}") + 1] == f'  Link: <{siteurl}/{path}>; rel="self"{known}'
    apache = (tmp_path / ".htaccess").read_text()
    escaped = known.replace("%", "%%").replace('"', r"\"")
    for path in paths:
        condition = f"expr=%{{REQUEST_URI}} -strmatch '*/{path}'"
        assert f'  Header add Link "<{siteurl}/{path}>; rel=\\"self\\"{escaped}" "{condition}"\n' in apache
    assert apache.count("strmatch") == 4

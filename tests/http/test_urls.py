"""URLs: their paths and back, their origins, public addresses, and the links in pages and headers."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PermanentError, TransportError
from pelican_resourcesync.http import Headers, links_of_headers, links_of_page, path_of_uri, served_paths, uri_of_path
from pelican_resourcesync.http.urls import Origin, host_to_name, is_public_address, normalized, origin, redirected

SITE = "https://example.org/a/site"
_TEXT = st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=20)
_BYTES = st.binary(min_size=1, max_size=8).filter(lambda name: not {0, 47} & set(name)).map(os.fsdecode)
NAMES = (_TEXT | _BYTES).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@given(PATHS, st.sampled_from([SITE, f"{SITE}/"]), st.sampled_from(["", "?query=a/../b", "#part", "?a#b"]))
def test_a_path_has_a_uri_and_comes_back(path: str, base: str, rest: str) -> None:
    """The URI of any file leads back to it, with or without query and fragment, and is ASCII."""
    uri = uri_of_path(base, path)
    assert uri.isascii()
    assert path_of_uri(base, uri + rest) == path
    assert path in served_paths(path)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        (f"{SITE}/", ""),
        (f"{SITE}/a/b.html", "a/b.html"),
        (f"{SITE}/a%3Ab%3F.txt?x#y", "a:b?.txt"),
        (f"{SITE}/a%2Fb", "a/b"),
        (f"{SITE}/caf%E9", os.fsdecode(b"caf\xe9")),
        (SITE, None),
        (f"{SITE}s/a", None),
        (f"{SITE}/../b", None),
        (f"{SITE}/a/%2e%2e/b", None),
        (f"{SITE}/%2e%2e%2fb", None),
        (f"{SITE}//etc/passwd", None),
        (f"{SITE}/%2Fetc/passwd", None),
        (f"{SITE}/a%00", None),
        ("https://elsewhere.example/a/site/b", None),
        ("urn:a", None),
    ],
)
def test_paths_by_hand(uri: str, path: str | None) -> None:
    """Query and fragment are no part of a path; what leads out of the folder has none."""
    assert path_of_uri(SITE, uri) == path


def test_served_paths() -> None:
    """A static host answers a path by that file, or else by a page."""
    assert served_paths("") == ("index.html",)
    assert served_paths("a/") == ("a/index.html",)
    assert served_paths("a") == ("a", "a.html", "a/index.html")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/x", ("https", "a.example", 443)),
        ("https://a.example", ("https", "a.example", 443)),
        ("http://a.example/", ("http", "a.example", 80)),
        ("HTTP://A.example", ("http", "a.example", 80)),
        ("http://a.example:8080/x?y#z", ("http", "a.example", 8080)),
        ("http://[::1]:8080", ("http", "::1", 8080)),
        ("http://a.example:65535/", ("http", "a.example", 65535)),
        ("http://a.example:65536/", None),
        ("http://a.example:0/", None),
        ("http://u@a.example/", None),
        ("ftp://a.example/", None),
        ("http://", None),
        ("a.example", None),
    ],
)
def test_origins(url: str, expected: Origin | None) -> None:
    """Scheme, host and port, in whatever form; no other text has an origin, and no URL with a user."""
    assert origin(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test:80/x//y/../%7e?a=/#b", "http://a.test/x//y/../%7e?a=/#b"),
        ("https://a.test:443/", "https://a.test/"),
        ("http://a.test:443/", "http://a.test:443/"),
        ("http://a.test:0080/", "http://a.test/"),
        ("HTTP://A.Test:08080/A", "http://a.test:8080/A"),
        ("http://a.test", "http://a.test/"),
        ("http://a.test?x=/y", "http://a.test/?x=/y"),
        ("http://a.test#x", "http://a.test/#x"),
        ("http://a.test:", "http://a.test/"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("http://u@a.test:80/", "http://u@a.test:80/"),
        ("http://[/x", "http://[/x"),
        ("urn:x", "urn:x"),
    ],
)
def test_normalized(url: str, expected: str) -> None:
    """Only the origin is written in another way (RFC 3986, 6.2.3)."""
    assert normalized(url) == expected


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a-b.test:8080/x", "a-b.test"),
        ("http://[::1]/", "::1"),
        ("http://x;sh/", ""),
        ("http://-rf/", ""),
        ("http://a_b/", ""),
        ("http://\xe4.test/", ""),
        ("urn:x", ""),
    ],
)
def test_hosts_to_name(url: str, name: str) -> None:
    """Nothing else stands in a command that we suggest."""
    assert host_to_name(url) == name


def test_redirects_to_the_secure_site() -> None:
    """A redirect may lead to https on the same host, and not back."""
    assert redirected("http://a.example/x", "https://a.example/y") == "https://a.example/y"
    for old, new in (("https://a.example/", "http://a.example/"), ("http://a.example/", "https://b.example/")):
        with pytest.raises(TransportError, match="redirects elsewhere"):
            redirected(old, new)


@pytest.mark.parametrize(
    ("location", "leads_to"),
    [
        ("https://s3.example:9000/b/1?X-Amz-Signature=a%2Fb%20c&x=é", "https://s3.example:9000/b/1?X-Amz-Signature=a%2Fb%20c&x=%E9"),
        ("//S3.Example/b", "https://S3.Example/b"),
        ("http://s3.example/b?X-Amz-Signature=secret", "to http://s3.example/b"),
        ("https://user:secret@s3.example/b", "to https://s3.example/b"),
        ("https://s4.example/b?secret", "to https://s4.example/b: add --allow-host s4.example to follow it there"),
        ("https://s3.example.c/?secret", "to https://s3.example.c/: add --allow-host s3.example.c to follow it there"),
        ("ftp://s3.example/b", "to ftp://s3.example/b"),
        ("https://[/", "to something that is not a URL"),
    ],
)  # fmt: skip
def test_redirects_to_other_hosts(location: str, leads_to: str) -> None:
    """They are followed to the hosts that are named, as exactly as they are written; the option for others is named."""
    if leads_to.startswith("http"):
        assert redirected("https://a.example/x", location, {"s3.example"}) == leads_to
        return
    with pytest.raises(PermanentError) as caught:
        redirected("https://a.example/x", location, {"s3.example"})
    assert str(caught.value) == f"https://a.example/x redirects elsewhere, {leads_to}"


ADDRESSES = {
    "loopback, private, link-local, multicast": (
        "127.0.0.1 10.1.2.3 192.168.0.1 169.254.169.254 ::1 fe80::1%eth0 fd00::1 0.0.0.0 224.0.0.1 100.64.0.1"
    ),
    "what stands for such": "::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::",
    # None is requested, whatever it leads to (here 127.0.0.1, 88.18.41.30).
    "Teredo": "2001:0:808:808::80ff:fffe 2001:0:4136:e378:8000:63bf:a7ed:d6e1 2001:0:7f00:1::",
    "no address": "address",
    "old and rare": "fec0::1 64:ff9b:1::a00:1 ::10.0.0.1 ::ffff:0:0 255.255.255.255 240.0.0.1 198.18.0.1",
    "public": "93.184.216.34 2606:2800:220:1::1 64:ff9b::5db8:d822",
}


@pytest.mark.parametrize("kind", ADDRESSES)
def test_public_addresses(kind: str) -> None:
    """Addresses of the internet alone are public."""
    for address in ADDRESSES[kind].split():
        assert is_public_address(address) is (kind == "public"), address


PAGE = "https://example.org/a/b.html"


@pytest.mark.parametrize(
    ("page", "links"),
    [
        ('<link rel="resourcesync" href="/c.xml">', ["https://example.org/c.xml"]),
        ("<LINK REL='alternate ResourceSync' HREF=c.xml />", ["https://example.org/a/c.xml"]),
        ('<link rel="resourcesync" href="http://[">', ["http://["]),
        ('<link rel="stylesheet" href="/c.css"><link rel="resourcesync">', []),
        ('<!-- <link rel="resourcesync" href="/c.xml"> -->', []),
        ("<![foo[", []),
        ('<base><base href="/b/"><base href="/d/"><link rel=resourcesync href=c.xml>', ["https://example.org/b/c.xml"]),
        ('<base href="http://["><link rel="resourcesync" href="c.xml">', ["c.xml"]),
    ],
)
def test_links_of_page(page: str, links: list[str]) -> None:
    """DI02: a link element with that relation among others, in whatever case."""
    assert links_of_page(page.encode(), PAGE) == links


@pytest.mark.parametrize(
    ("header", "links"),
    [
        ('</c.xml>; rel="resourcesync"', ["https://example.org/c.xml"]),
        ('<x>; rel=up, </c.xml>; type="application/xml"; REL=resourcesync', ["https://example.org/c.xml"]),
        ('<c.xml>;rel="up resourcesync"', ["https://example.org/a/c.xml"]),
        ('<c.xml>; title="rel=resourcesync"', []),
        ("resourcesync", []),
    ],
)
def test_links_of_headers(header: str, links: list[str]) -> None:
    """DI03: a Link header with that relation among others."""
    headers = Headers([b"Link: " + header.encode()])
    assert links_of_headers(headers, PAGE) == links

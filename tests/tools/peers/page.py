"""The peers: what others wrote, the tests that try it, and the page that says how that went."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import NamedTuple

from tests.kit.sites import ROOT

PAGE = ROOT / "docs/interoperability.md"
#: The environment of programs that no other test uses: `make peers` creates it.
PROGRAMS = ROOT / ".venv-peers/bin"


class Peer(NamedTuple):
    """What others wrote, `what` it is tried with, and the `tests` that do so.

    `comes_from` is `PyPI` with the name of a package, whose program is in `PROGRAMS` if a star says so; `Debian` with
    the name of a program; or any text.
    """

    name: str
    comes_from: str
    what: str
    tests: tuple[str, ...]


_OUTSIDE = "tests/tools/peers/outside.py"
_OTHERS = "tests/destination/test_others.py"
_LISTENING = "tests/destination/test_listening.py"

READERS = (
    Peer(
        "resync, the reference client",
        "PyPI resync",
        "runs `--baseline`, `--incremental` and `--audit` over ten publications",
        ("tests/programs/test_ten_publications.py::test_ten_publications_are_followed",),
    ),
    Peer(
        "resync, the library",
        "PyPI resync",
        "reads the entries, times, hashes and links of each kind of document, whole and in parts",
        ("tests/publication/test_resync_reads.py::test_every_document_is_read",),
    ),
    Peer(
        "resync, at URLs of folders",
        "PyPI resync",
        'stops at a URL that ends in a slash; with [`index_urls = "file"`](settings.md), it copies everything',
        ("tests/programs/test_ten_publications.py::test_client_needs_the_urls_of_files",),
    ),
    Peer(
        "memento-client",
        "PyPI* memento-client",
        "finds the memento of each time through the TimeGate of [`serve`](versions.md#the-version-of-a-time)",
        (f"{_OUTSIDE}::test_memento_client",),
    ),
    Peer(
        "pywb",
        "PyPI pywb",
        "reads TimeMaps, and shows each state in a web archive that `restore` wrote",
        (
            "tests/publication/kinds/test_versions.py::test_another_reader",
            "tests/destination/test_wacz.py::test_every_time_in_pywb",
        ),
    ),
    Peer(
        "wacz",
        "PyPI wacz",
        "accepts a web archive that `restore` wrote, with `wacz validate`",
        ("tests/destination/test_wacz.py::test_every_time_in_pywb",),
    ),
    Peer(
        "zstd",
        "Debian zstd",
        "applies our [patches](patches.md) with `--patch-from`; we apply its patches",
        (f"{_OUTSIDE}::test_zstd",),
    ),
    Peer(
        "Flask-WebSub, a hub",
        "PyPI flask-websub",
        "accepts the pings of [`announce`](push.md), and delivers the notifications",
        ("tests/delivery/announce/test_hubs.py::test_a_hub_that_none_of_us_wrote",),
    ),
)
SOURCES = (
    Peer(
        "resync-simulator, the reference Source",
        "PyPI* resync-simulator",
        "is copied repeatedly while it changes, in both editions of the standard, with and without times "
        "(one of its calls is adapted to Python 3.11)",
        (f"{_OUTSIDE}::test_simulator",),
    ),
    Peer(
        "resync-build, of resync",
        "PyPI resync",
        "its Source is copied, and followed through its Change List",
        (f"{_OTHERS}::test_resync_build",),
    ),
    Peer(
        "py-resourcesync",
        "documents in its style",
        "documents of both its strategies are read",
        (f"{_OTHERS}::test_in_the_manner_of_py_resourcesync",),
    ),
    Peer(
        "ResourceSync module of DSpace",
        "documents in its style",
        "documents without `at`, with dates without times, URLs with queries, and hashes for some resources",
        (f"{_OTHERS}::test_in_the_manner_of_dspace",),
    ),
    Peer(
        "examples of the standard",
        "Z39.99-2014, 2017",
        "a Source made of the documents in its text",
        (f"{_OTHERS}::test_examples_of_the_standard",),
    ),
    Peer(
        "dialects of publishers",
        "documents in their style",
        "XML prefixes, empty and wrong values, times of all forms, unreadable lists",
        ("tests/destination/test_dialects.py::test_dialect",),
    ),
)
#: What W3C asks of a subscriber, with the numbers of its list: the test of it, or why there is none.
REQUIREMENTS: Mapping[str, str] = {
    "100 to 104: discovers the hub in HTTP headers, before HTML, Atom and RSS": f"{_LISTENING}::test_hub_of_the_topic",
    "1xx: creates a subscription": f"{_LISTENING}::test_subscription",
    "200: subscribes to the `self` of a URL": f"{_LISTENING}::test_hub_of_the_topic",
    "201, 202: subscribes to a topic that is redirected": "not tested: redirects are followed within a host",
    "203, 204: repeats a request at the address in a 307 or 308 response": (
        "tests/http/test_client.py::test_a_post_that_is_repeated"
    ),
    "205: rejects the verification of another topic": f"{_LISTENING}::test_verification_of_another_topic",
    "1xx: has a secret": f"{_LISTENING}::test_subscription",
    "1xx: asks for a lease": f"{_LISTENING}::test_renewal",
    "has an unguessable callback for each subscription": f"{_LISTENING}::test_subscription",
    "1xx: unsubscribes": f"{_LISTENING}::test_subscription",
    "300: answers a notification with 2xx": f"{_LISTENING}::test_subscription",
    "1xx: verifies a signature": f"{_LISTENING}::test_signatures",
    "301: rejects a wrong signature": f"{_LISTENING}::test_refused_calls",
    "302: rejects a notification without one": f"{_LISTENING}::test_refused_calls",
}
#: Programs and services that no registry provides.
UNTRIED: Mapping[str, str] = {
    "CORE, OpenAIRE": "services: their requirements are compared with their documentation only",
    "websub.rocks": "a service: the list above has the same tests",
    "the ResourceSync module of DSpace": "part of DSpace, which needs Java, PostgreSQL and Solr",
}

HEAD = """\
# Interoperability

Other programs that read what this project publishes, and other publishers that it reads. `make peers` installs these
programs from package registries, runs all tests below, and writes this page. Last run: {date}, with Python {python} on
{system}.

"""


def proofs() -> list[str]:
    """Return all tests, each once."""
    named = [test for peer in (*READERS, *SOURCES) for test in peer.tests]
    return [*dict.fromkeys([*named, *(proof for proof in REQUIREMENTS.values() if "::" in proof)])]


def render(results: Mapping[str, str], **head: str) -> str:
    """Return the page, with the result of each test."""
    parts = [HEAD.format_map(head)]
    for title, text, of, peers in (
        ("Clients and tools", "These programs read what this project publishes", "program", READERS),
        ("Publishers", "`mirror` copies the Sources of these publishers", "Source", SOURCES),
    ):
        rows = ([peer.name, _version(peer.comes_from), peer.what, _result(peer.tests, results)] for peer in peers)
        parts.append(f"## {title}\n\n{text}:\n\n{_table([of, 'version', 'test', 'result'], rows)}\n")
    rows = ([what, _result([proof], results) if "::" in proof else proof] for what, proof in REQUIREMENTS.items())
    link = "https://github.com/w3c/websub/blob/master/implementation-reports/SUBSCRIBER-TEMPLATE.md"
    text = f"Results of `mirror --listen` for the [W3C checklist]({link}) for subscribers, with its numbers:"
    parts.append(f"## WebSub\n\n{text}\n\n{_table(['a subscriber', 'result'], rows)}\n")
    parts.append(f"## Not tested\n\n{_table(['program', 'reason'], map(list, UNTRIED.items()))}")
    return "".join(parts)


def _result(tests_of_peer: Iterable[str], results: Mapping[str, str]) -> str:
    return "; ".join(dict.fromkeys(results.get(test, "did not run") for test in tests_of_peer))


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def table_rows(page: str) -> Iterator[list[str]]:
    """Yield the cells of all rows of a page."""
    for line in re.findall(r"^\| (.*) \|$", page, re.MULTILINE):
        yield line.split(" | ")


def _version(comes_from: str) -> str:
    """Return where a peer comes from, and its version as it is installed."""
    registry, _, name = comes_from.partition(" ")
    try:
        if registry == "PyPI":
            return f"[{name} {version(name)}](https://pypi.org/project/{name}/)"
        if registry == "PyPI*":
            asked = f"from importlib.metadata import version; print(version({name!r}), end='')"
            return f"[{name} {_output(str(PROGRAMS / 'python'), '-c', asked)}](https://pypi.org/project/{name}/)"
        if registry == "Debian":
            return f"{name} {re.findall(r'[0-9]+(?:[.][0-9]+)+', _output(name, '--version'))[0]}"
    except (OSError, subprocess.CalledProcessError):
        return f"{name} (not installed)"
    return comes_from


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout

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
        "`--baseline`, `--incremental` and `--audit` over ten publications",
        ("tests/programs/test_ten_publications.py::test_ten_publications_are_followed",),
    ),
    Peer(
        "resync, the library",
        "PyPI resync",
        "reads each kind of document, whole and in parts: entries, times, hashes, links",
        ("tests/publication/test_resync_reads.py::test_every_document_is_read",),
    ),
    Peer(
        "resync, at URLs of folders",
        "PyPI resync",
        'stops at a URL that ends in a slash; with [`index_urls = "file"`](settings.md) it copies all',
        ("tests/programs/test_ten_publications.py::test_client_needs_the_urls_of_files",),
    ),
    Peer(
        "memento-client",
        "PyPI* memento-client",
        "finds the memento of each time by the TimeGate of [`serve`](versions.md#the-version-of-a-time)",
        (f"{_OUTSIDE}::test_memento_client",),
    ),
    Peer(
        "pywb",
        "PyPI pywb",
        "reads TimeMaps, and shows a web archive of `restore` as it was at every time",
        (
            "tests/publication/kinds/test_versions.py::test_another_reader",
            "tests/destination/test_wacz.py::test_every_time_in_pywb",
        ),
    ),
    Peer(
        "wacz",
        "PyPI wacz",
        "`wacz validate` accepts a web archive of `restore`",
        ("tests/destination/test_wacz.py::test_every_time_in_pywb",),
    ),
    Peer(
        "zstd",
        "Debian zstd",
        "`--patch-from` applies our [patches](patches.md), and we apply its own",
        (f"{_OUTSIDE}::test_zstd",),
    ),
    Peer(
        "Flask-WebSub, a hub",
        "PyPI flask-websub",
        "takes the pings of [`announce`](push.md), and delivers the notifications",
        ("tests/delivery/announce/test_hubs.py::test_a_hub_that_none_of_us_wrote",),
    ),
)
SOURCES = (
    Peer(
        "resync-simulator, the reference Source",
        "PyPI* resync-simulator",
        "is copied again and again while it changes, as either edition of the standard, with times and without "
        "(one of its calls is adapted to Python 3.11)",
        (f"{_OUTSIDE}::test_simulator",),
    ),
    Peer(
        "resync-build, of resync",
        "PyPI resync",
        "the Source that it writes is copied, and followed by its Change List",
        (f"{_OTHERS}::test_resync_build",),
    ),
    Peer(
        "py-resourcesync",
        "written in its manner",
        "documents of both of its strategies",
        (f"{_OTHERS}::test_in_the_manner_of_py_resourcesync",),
    ),
    Peer(
        "ResourceSync module of DSpace",
        "written in its manner",
        "no `at`, dates without times, URLs with queries, hashes of some",
        (f"{_OTHERS}::test_in_the_manner_of_dspace",),
    ),
    Peer(
        "examples of the standard",
        "Z39.99-2014, 2017",
        "a Source of the documents in its text",
        (f"{_OTHERS}::test_examples_of_the_standard",),
    ),
    Peer(
        "dialects of publishers",
        "written in their manner",
        "prefixes, empty and wrong values, times of all kinds, lists that cannot be read",
        ("tests/destination/test_dialects.py::test_dialect",),
    ),
)
#: What W3C asks of a subscriber, with the numbers of its list: the test of it, or why there is none.
REQUIREMENTS: Mapping[str, str] = {
    "100 to 104: discovers the hub in HTTP headers, before HTML, Atom and RSS": f"{_LISTENING}::test_hub_of_the_topic",
    "1xx: creates a subscription": f"{_LISTENING}::test_subscription",
    "200: subscribes to the `self` of a URL": f"{_LISTENING}::test_hub_of_the_topic",
    "201, 202: subscribes to a topic that is redirected": "not tried: redirects are followed within a host",
    "203, 204: repeats a request where the hub leads with 307 or 308": (
        "tests/http/test_client.py::test_a_post_that_is_repeated"
    ),
    "205: rejects the verification of another topic": f"{_LISTENING}::test_verification_of_another_topic",
    "1xx: has a secret": f"{_LISTENING}::test_subscription",
    "1xx: asks for a lease": f"{_LISTENING}::test_renewal",
    "has a callback for each subscription, which nobody can guess": f"{_LISTENING}::test_subscription",
    "1xx: unsubscribes": f"{_LISTENING}::test_subscription",
    "300: answers a notification with 2xx": f"{_LISTENING}::test_subscription",
    "1xx: verifies a signature": f"{_LISTENING}::test_signatures",
    "301: rejects a wrong signature": f"{_LISTENING}::test_refused_calls",
    "302: rejects a notification without one": f"{_LISTENING}::test_refused_calls",
}
#: Whom nobody can run from a registry.
UNTRIED: Mapping[str, str] = {
    "CORE, OpenAIRE": "services: what they take is compared with their documentation alone",
    "websub.rocks": "a service: the list above is that of its tests",
    "the ResourceSync module of DSpace": "a part of DSpace, which needs Java, PostgreSQL and Solr",
}

HEAD = """\
# Interoperability

Which programs of others read what this project publishes, and what of others it reads. `make peers` takes these
programs from package registries, tries all of this, and writes this page: this one on {date}, with Python {python} on
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
        ("Who reads us", "Programs that read what this project publishes", "program", READERS),
        ("Whom we read", "Sources that `mirror` copies", "Source", SOURCES),
    ):
        rows = ([peer.name, _version(peer.comes_from), peer.what, _result(peer.tests, results)] for peer in peers)
        parts.append(f"## {title}\n\n{text}:\n\n{_table([of, 'version', 'what is tried', 'result'], rows)}\n")
    rows = ([what, _result([proof], results) if "::" in proof else proof] for what, proof in REQUIREMENTS.items())
    link = "https://github.com/w3c/websub/blob/master/implementation-reports/SUBSCRIBER-TEMPLATE.md"
    text = f"`mirror --listen`, by the [list of W3C]({link}) for subscribers, with its numbers:"
    parts.append(f"## WebSub\n\n{text}\n\n{_table(['a subscriber', 'result'], rows)}\n")
    parts.append(f"## What was not tried\n\n{_table(['who', 'why'], map(list, UNTRIED.items()))}")
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

"""Builds a package of all that bears on its bytes, and prints two SHA-256, its own and its manifest's."""

import random
from hashlib import sha256

from pelican_resourcesync.protocol import ChangeKind
from tests.publication.kinds.dumps.support import CHANGES, bitstream, deletion, packed

NOISE = random.Random(7)


def main() -> None:
    """Build and print."""
    many = [
        bitstream(f"{number % 7}/M%C3%BCnze{number}.{end}", NOISE.randbytes(number * 40) + b"<p>text</p>" * 900, kind)
        for number in range(60)
        for end, kind in (("html", "text/html"), ("jpg", "image/jpeg"))
    ]
    changed = [bitstream("a.html", b"x" * number, change=ChangeKind.UPDATED) for number in range(9)]
    for data in packed([*many, *changed, deletion("a.html")], CHANGES):
        print(sha256(data).hexdigest())  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()

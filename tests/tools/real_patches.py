"""Make and apply the patch of each update of a page that a git repository has, and compare their sizes.

    python -m tests.tools.real_patches REPOSITORY BRANCH [MOST]

The repository has built HTML on the branch. Prints the sizes of the patches and of the files compressed by `gzip -9`,
and fails where a patch does not give the new bytes, or all of them take more than 12 % of that.
"""

import gzip
import subprocess
import sys
from time import perf_counter

from pelican_resourcesync.publication.kinds.patches import SMALL
from pelican_resourcesync.system.dcz import LARGEST, apply_patch, make_patch


def main(repository: str, branch: str, most: str = "2000") -> int:
    """Measure the last updates, and return the exit status."""
    log = ["log", "--first-parent", "--no-renames", "--raw", "--abbrev=40", "--format=", "--diff-filter=M", branch]
    lines = _git(repository, *log, "--", "*.html").decode().splitlines()
    count = patched = compressed = 0
    making = applying = 0.0
    for line in lines:
        old, new = (_git(repository, "cat-file", "blob", name) for name in line.split()[2:4])
        if not (min(len(old), len(new)) > SMALL and max(len(old), len(new)) <= LARGEST) or count == int(most):
            continue
        begin = perf_counter()
        patch = make_patch(old, new)
        made = perf_counter()
        if apply_patch(patch, old, len(new)) != new:
            sys.stdout.write(f"{line} is not what its patch gives\n")
            return 1
        making, applying = making + made - begin, applying + perf_counter() - made
        whole = len(gzip.compress(new, 9))
        count, patched, compressed = count + 1, patched + min(len(patch), whole), compressed + whole
    sys.stdout.write(
        f"{count:,} updates: {patched:,} bytes of patches, {patched / compressed:.1%} of {compressed:,} compressed; "
        f"{making / count * 1000:.2f} ms to make one, {applying / count * 1000:.2f} ms to apply it\n"
    )
    return int(patched > 0.12 * compressed)


def _git(repository: str, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

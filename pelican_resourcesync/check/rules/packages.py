"""RD02 to RD06, CD02: packages, their manifests and members."""

from pelican_resourcesync.check.measure import wrong_digest, wrong_length
from pelican_resourcesync.check.package import MANIFEST, Member, Package
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.values import cut, same_type

BOOK = Book()
_MANIFEST_THERE = "A package has manifest.xml at its top level"


@BOOK("package", "RD03", MUST, "A package is a ZIP file, or its type says what else", "core §11.1")
def is_zip(package: Package) -> str | None:
    """Check that the package can be opened."""
    other = not same_type(package.md.get("type", "application/zip"), "application/zip")
    return f"the package: {package.problem}" if package.problem and not other else None


@BOOK("package", "RD04", MUST, _MANIFEST_THERE, "core §11.2")
def has_manifest(package: Package) -> str | None:
    """Check that a package of resources has its manifest."""
    return None if package.of_changes else _without_manifest(package)


@BOOK("package", "CD02", MUST, _MANIFEST_THERE, "core §13.2")
def has_manifest_of_changes(package: Package) -> str | None:
    """Check that a package of changes has its manifest."""
    return _without_manifest(package) if package.of_changes else None


def _without_manifest(package: Package) -> str | None:
    if package.problem:
        return None
    if package.manifest is None:
        return f"the package has no {MANIFEST} that can be read" if MANIFEST in package.names else f"no {MANIFEST}"
    expected = f"{package.listed_as}-manifest" if package.listed_as else package.manifest.capability
    if package.manifest.capability == expected and expected.endswith("-manifest"):
        return None
    return f"its {MANIFEST} has the capability {cut(package.manifest.capability)}"


@BOOK("package", "RD02", MUST, "The copy of a manifest equals the one in the package", "core §11.1, §13.1")
def copy(package: Package) -> str | None:
    """Check the copy that rel=contents links to."""
    if package.manifest is None or package.copy is None or package.copy.digest == package.manifest.digest:
        return None
    return f"{cut(package.copy.uri)} is not the manifest of the package"


@BOOK("package", "RD05", SHOULD, "The manifest lists all members of the package", "core §11.2, §13.2")
def all_listed(package: Package) -> str | None:
    """Check that the manifest lists every member."""
    if package.manifest is None or not package.manifest.readable:
        return None
    unlisted = [name for name in package.names if name != MANIFEST and name not in package.listed]
    return f"{len(unlisted)} members are not in the manifest, such as {cut(unlisted[0])}" if unlisted else None


@BOOK("package", "RD06", MUST, "A path names one member", "core §11.2, §13.2")
def no_twins(package: Package) -> str | None:
    """Check that no two members have the same name."""
    if len(set(package.names)) == len(package.names):
        return None
    seen: set[str] = set()
    twin = next(name for name in package.names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    return f"there are two members {cut(twin)}"


@BOOK("member", "RD06", MUST, "A path names a member, and hash and length are of its bytes", "core §11.2, §13.2")
def bytes_of(member: Member) -> str | None:
    """Check a member against its entry in the manifest."""
    problem = member.problem
    if member.measured is not None:
        md = member.item.md or {}
        wrong = wrong_length(member.measured, md) or wrong_digest(member.measured, md)
        problem = f"names a member: {wrong}" if wrong else ""
    return f"the path {cut(member.path)} {problem}" if problem else None

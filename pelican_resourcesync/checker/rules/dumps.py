"""Rules about dumps, their manifests, packages and members (RD, CD)."""

from pelican_resourcesync.checker.document import DocumentState
from pelican_resourcesync.checker.resources import MANIFEST, CheckedPackage, Member
from pelican_resourcesync.checker.rule import MUST, SHOULD, rule
from pelican_resourcesync.checker.scan import Attributes, RawEntry
from pelican_resourcesync.checker.values import quoted, same_type

_RD, _RM, _CD, _CM = ("resourcedump",), ("resourcedump-manifest",), ("changedump",), ("changedump-manifest",)


@rule("entry", "CD01", SHOULD, "A package has type and length", "core §13.1", on=_CD, index=False)
@rule("entry", "RD01", SHOULD, "A package has type and length", "core §11.1", on=_RD, index=False)
def package(item: RawEntry, _: DocumentState) -> str | None:
    missing = [name for name in ("type", "length") if name not in item.md]
    return f"the package has no {' and no '.join(missing)}" if missing else None


@rule("entry", "RD03", SHOULD, "All packages have the same format", "core §11.1", on=_RD + _CD, index=False)
def one_format(item: RawEntry, doc: DocumentState) -> str | None:
    type_ = item.md.get("type")
    if type_ is None:
        return None
    if not doc.types:
        doc.types.add(type_)
    return None if type_ in doc.types else f"the package has the type {quoted(type_)}, unlike those before it"


@rule("entry", "RD05", MUST, "Each bitstream of a Resource Dump Manifest has a path", "core §11.2", on=_RM)
def path(item: RawEntry, _: DocumentState) -> str | None:
    return None if "path" in item.md else "the entry has no path"


@rule("entry", "RD06", MUST, "A path begins with a slash", "core §11.2", on=_RM)
def slash(item: RawEntry, _: DocumentState) -> str | None:
    return _without_slash(item.md)


@rule("entry", "CD03", MUST, "An entry has its change, and a path unless it is deleted", "core §13.2", on=_CM)
def change(item: RawEntry, _: DocumentState) -> str | None:
    md = item.md
    kind = md.get("change", "").strip()
    if kind not in ("created", "updated", "deleted"):
        return f"change is {quoted(kind)}, not created, updated or deleted"
    return "the entry has no path" if kind != "deleted" and "path" not in md else _without_slash(md)


@rule("entry", "CD03", SHOULD, "A bitstream has its media type", "core §13.2", on=_CM)
def type_(item: RawEntry, _: DocumentState) -> str | None:
    md = item.md
    return "the entry has no type" if "path" in md and "type" not in md else None


@rule("entry", "CD04", MUST, "A resource that changed n times has n bitstreams", "core §13.1", on=_CM)
def own_bitstream(item: RawEntry, doc: DocumentState) -> str | None:
    path = item.md.get("path")
    if path is None:
        return None
    known = hash(path) in doc.paths
    doc.paths.add(hash(path))
    return f"the path {quoted(path)} is also the path of another change" if known else None


def _without_slash(md: Attributes | None) -> str | None:
    path = (md or {}).get("path")
    return f"the path {quoted(path)} does not begin with a slash" if path is not None and path[:1] != "/" else None


_MANIFEST_THERE = "A package has manifest.xml at its top level"


@rule("package", "RD03", MUST, "A package is a ZIP file, or its type is another one", "core §11.1")
def is_zip(package: CheckedPackage) -> str | None:
    other = not same_type(package.md.get("type", "application/zip"), "application/zip")
    return f"the package {package.problem}" if package.problem and not other else None


@rule("package", "RD04", MUST, _MANIFEST_THERE, "core §11.2")
def has_manifest(package: CheckedPackage) -> str | None:
    return None if package.of_changes else _without_manifest(package)


@rule("package", "CD02", MUST, _MANIFEST_THERE, "core §13.2")
def has_manifest_of_changes(package: CheckedPackage) -> str | None:
    return _without_manifest(package) if package.of_changes else None


def _without_manifest(package: CheckedPackage) -> str | None:
    if package.problem:
        return None
    if package.manifest is None:
        return f"the package has no {MANIFEST}{' that can be read' if MANIFEST in package.names else ''}"
    expected = f"{package.listed_as}-manifest" if package.listed_as else package.manifest.capability
    if package.manifest.capability == expected and expected.endswith("-manifest"):
        return None
    return f"its {MANIFEST} has the capability {quoted(package.manifest.capability)}"


@rule("package", "RD02", MUST, "The copy of a manifest equals the one in the package", "core §11.1, §13.1")
def copy(package: CheckedPackage) -> str | None:
    if package.manifest is None or package.copy is None or package.copy.digest == package.manifest.digest:
        return None
    return f"{quoted(package.copy.uri)} differs from the manifest in the package"


@rule("package", "RD05", SHOULD, "The manifest lists all members of the package", "core §11.2, §13.2")
def all_listed(package: CheckedPackage) -> str | None:
    if package.manifest is None or not package.manifest.readable:
        return None
    unlisted = [name for name in package.names if name != MANIFEST and hash(name) not in package.listed]
    return (
        f"{len(unlisted):,} of the members are not in the manifest, such as {quoted(unlisted[0])}" if unlisted else None
    )


@rule("package", "RD06", MUST, "A path names one member", "core §11.2, §13.2")
def no_twins(package: CheckedPackage) -> str | None:
    if len(set(package.names)) == len(package.names):
        return None
    seen: set[str] = set()
    twin = next(name for name in package.names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    return f"two members have the name {quoted(twin)}"


@rule("member", "RD06", MUST, "A path names a member, whose bytes have the listed hash and length", "core §11.2, §13.2")
def bytes_of(member: Member) -> str | None:
    problem = member.problem
    if member.measured is not None:
        md = member.item.md
        wrong = member.measured.wrong_length(md) or member.measured.wrong_digest(md)
        problem = f"names a member with other bytes: {wrong}" if wrong else ""
    return f"the path {quoted(member.path)} {problem}" if problem else None

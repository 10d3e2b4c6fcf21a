"""Realistic faults, chosen by hand: each is a mistake that a person could make, and something that a user relies on.

Faults are found by their text, not by a path, so modules may move. If you change such a text, update its lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.kit.sites import ROOT
from tests.tools.mutants.faults import Fault


class FaultByHand(NamedTuple):
    """What is wrong with a fault, the text that it replaces, and what it puts there."""

    name: str
    before: str
    after: str


#: Each fault: its name, the lines that it replaces, and what it puts there, as in a diff.
_WRITTEN = r"""
a change without a time is as old as the one before it
-        yield from ((*undated, True) for undated in waiting)
+        yield from ((*undated, False) for undated in waiting)
the TimeGate leads to a file of another resource or time
-        if leads and index.first_uses[version.name] == (uri, version):
+        if leads:
MySQL is read without a snapshot
-    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
+    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
until of a full list is the boundary before it, which its changes are after
-        return self._last if full else None
+        return mark if full else None
until is the boundary though a change of the list is later
-            return max(mark, self._last or mark)
+            return mark
a Change List may have 50,001 changes
-full = self._entries and (self._entries + entries > self._most or
+full = self._entries and (self._entries + entries > self._most + 1 or
`at` of the Resource List ignores its newest change
-return max([*times, new.last] if new.last else times)
+return max(times) if times else new.last
what a site that moved keeps is withdrawn
-        uris = {uri for uri in gone if was == siteurl or not self._now.get(uri.replace(was, siteurl, 1))}
+        uris = {*gone}
install: names of the exchanged folders are not flushed
-        undo.callback(_move, place, new)
-    sync([place.parent, new.parent])
+        undo.callback(_move, place, new)
install: the new documents are not flushed, only their folders
-sync_all(chain(copied, fresh, _folders(new)))
+sync_all(chain(copied, _folders(new)))
install: the well-known copy is replaced before the documents
-            _replace_folder(stage, output, undo)
-        if WELL_KNOWN in changed:
-            (new / WELL_KNOWN).replace(well_known)
+            if WELL_KNOWN in changed:
+                (new / WELL_KNOWN).replace(well_known)
+                changed.discard(WELL_KNOWN)
+            _replace_folder(stage, output, undo)
+        if WELL_KNOWN in changed:
+            (new / WELL_KNOWN).replace(well_known)
install: unchanged documents are new files (their times change)
-        if identity(new / path) != identity(output / path):
+        if False:
install: what others have keeps no permissions
-    elif not link_or_copy(old, new):
-        copy_owner(new, old)
+    elif not link_or_copy(old, new):
forget: pages of changes still name the forgotten URI
-self._hidden = news.previous, news.resources, news.withdrawn.uris
+self._hidden = news.previous, news.resources, ()
forget: a past that is added later names it again
-            first=None,  # a past that is added would name these URIs again
forget: links of others to it stay
-for link in entry.links if link.href not in self._uris)
+for link in entry.links)
forget: `unstable` in publication.json keeps its URI
-unstable={uri: n for uri, n in before.unstable.items() if uri not in uris}
+unstable=before.unstable
notifications: begins at the last change, not where the last one ended (gap)
-start = (before[-1].until if before else None) or previous.last
+start = previous.last
deletions: a file whose item lost its policies counts as embargoed
- if self.periods and not self.is_public(view) else "",
+ if self.periods else "",
deletions: half of all pages is never counted
- and most * 2 <= of:
+:
a change that the history dates before the last publication keeps that time
-time = other if other > self._known else self.unexplained
+time = other
a title that was edited to withdraw a part of it stays on the page
-            self._updated = {change.uri for change in news.changes if change.kind is ChangeKind.UPDATED}
+            pass
versions of withdrawn resources stay
-for uri in (*withdrawn.uris, *self._outside(index)):
+for uri in self._outside(index):
rolled back live site is continued from there
-        if saved and folder and not live.state.continues(saved):
+        if False and saved and folder:
the unsigned predecessor is continued although there is a key
-            require_signed(found.previous, self.key)
files are renamed before the state records them
-        self._interrupted = bool(batch)
+        self._interrupted = bool(batch)
+        self._install_all(batch)
+        batch, done = [], batch
a file of somebody else with the same length is deleted
-        if stored.digest and not self.matches(stored):
-            return False
-        target.unlink()
+        target.unlink()
the last names of a run are not flushed
-        self.copy.sync([], self._renamed)
-        self._renamed.clear()
+        self._renamed.clear()
parts are not flushed before they are renamed
-self._pool.submit(self.copy.sync, parts, renamed)
+self._pool.submit(self.copy.sync, [], renamed)
follow: the cursor moves before the change is handled
-                        yield from _handed_over(change, is_around=is_around)
+                        self.cursor = now
+                        yield from _handed_over(change, is_around=is_around)
follow: a resource that failed is forgotten, not postponed
-        now = now.postponing(resource.uri, resource)
+        now = now.postponing(resource.uri, None)
atomic: a state with missing files is switched to
-            if not result.is_whole:
-                result.plan.notes.append(
+            if False:
+                result.plan.notes.append(
an older Resource List is accepted
-if before and at and at < before and not self._options.accept_older:
+if False and before:
lists dated in the future are remembered as followed
-        if position.is_ahead:
-            until =
+        if False:
+            until =
a continued part is not checked against the ETag it had
- or response.headers.get("ETag") != tag:
+:
signed: an older state of the same generation number is accepted
-            if place == before and self._states[state][-1] != digest:
+            if False:
change List torn from its index is believed
-self._torn = "" if change_list.until or not _times(opened.document, change_list.uri)[1] else change_list.uri
+self._torn = ""
two URLs that differ in case share a path
-            if path.lower() not in self._installer.paths and not self._state.has_path(path):
+            if path not in self._installer.paths:
a symbolic link on the way is followed (parents of parents are not looked at)
-self._reachable(folder) and not os.path.islink(
+not os.path.islink(
what is in two sets is deleted when one set lists it no more
-sets = sets & ~?1 WHERE sets & ?1 AND uri {unlisted}
+sets = 0 WHERE sets & ?1 AND uri {unlisted}
deletions: a page that was edited and is gone for another reason counts as explained
-uris |= {*before[0]} - {*after[0]}
+uris |= {*before[0]}
hidden outputs are resources
-        if not output.public or exclusion.excludes(output.path):
+        if exclusion.excludes(output.path):
an incomplete copy is published
-    require_complete_copies(run.output, written)
a set's past names what is gone and was never in it
-            within.update(filter(self.selector.may_match_uri, gone))
+            within.update(gone)
a file is public though its bundle is restricted
-view.period(row[_START], row[_END]).within(view.period(row[_BUNDLE_START], row[_BUNDLE_END]))
+view.period(row[_START], row[_END])
the last day of an embargo is public in the earliest zone only
-if period.start <= today.earliest and today.latest < period.end)
+if period.start <= today.latest and today.latest < period.end)
a link to an earlier version that is withdrawn or restricted stays
-            if place[1] not in self._left_out and access.readable(_periods(same, self._view), self._view.today)
+            if place[1] not in self._left_out
a run dated before the last one is allowed (ended rights return)
-            plan.require_not_before(settings.at)
-            result = _unchanged(
+            result = _unchanged(
a dump older than the last publication brings back what was withdrawn
-    if last and now and now < last and returning and
+    if last and now and False and
a typing error in hidden hides nothing
-    if unknown := sorted({*names} - {*known}):
+    if unknown := sorted({*names} - {*known} - {*names}):
records of withdrawn items are linked again
-                if path not in without:
+                if True:
hidden fields of related items are shown
-ALWAYS_HIDDEN = frozenset({"dc.description.provenance", "person.email", "person.email.*"})
+ALWAYS_HIDDEN = frozenset({"dc.description.provenance", "person.email"})
the inventory that is kept is not flushed
-        sync([inventory.file])
a file outside its store is read through a link
-        if not path.resolve().is_relative_to(store.resolve()):
+        if False:
until is not compared
-    if doc.until is not None and time > doc.until:
+    if False:
a gap at the beginning of an index is not found
-    if begin and first and doc.from_ and begin > doc.from_:
+    if False:
the last batch of resources is not examined
-        self._patched.clear()
-        self._examine()
+        self._patched.clear()
+        self._examine() if len(self._waiting) > 1 else None
pages are announced that are at a former address
-if not (md and md.change and entry.loc.startswith(here) and
+if not (md and md.change and
a list that does not match publication.json is announced
-        if sha256(data) != state.documents.get(path):
+        if False:
a notification of another topic is a hint
-        if links and f"<{subscription.topic}>" not in links:
+        if False:
a denied subscription is not asked for again
-subscription.asked, subscription.ends, subscription.due = "", 0.0, now + self._every
+subscription.asked, subscription.ends, subscription.due = "", 0.0, (
+    float("inf") if mode == "denied" else now + self._every
+)
pages for people are uploaded after the entry points
-{re.escape(WELL_KNOWN)}", 6,
+{re.escape(WELL_KNOWN)}", 4,
a lease that was lost is not noticed while files are put
-        self._lease.renew()
-        self._bucket.put(path, source,
+        self._bucket.put(path, source,
the documents that are replaced are not copied first
-            self._bucket.copy(path, copy)
-            self.copies.append(copy)
+            self.copies.append(copy)
the host of a preview on this machine is asked for what is live
-if url != siteurl and not is_loopback(url)]
+if url != siteurl]
"""


def _read_faults(written: str) -> Iterator[FaultByHand]:
    for text in re.split(r"\n(?![-+]|$)", written.strip("\n")):
        name, *lines = text.splitlines()
        before, after = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
        yield FaultByHand(name, before, after)


FAULTS_BY_HAND = tuple(_read_faults(_WRITTEN))


def product_files() -> Mapping[str, str]:
    """Return the text of each module of the product, by path."""
    files = [file for package in ("pelican_resourcesync", "repo_bridge") for file in (ROOT / package).rglob("*.py")]
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in sorted(files)}


def locate(fault: FaultByHand, files: Mapping[str, str]) -> Fault:
    """Return the fault at its place. Raises `LookupError` if its text is not in exactly one place."""
    places = [(path, text) for path, text in files.items() for _ in range(text.count(fault.before))]
    if len(places) != 1:
        message = f"{fault.name!r}: its text is in {len(places)} places, and should be in one: {fault.before!r}"
        raise LookupError(message)
    [(path, text)] = places
    begin = text.index(fault.before)
    (line, column), (end_line, end_column) = (_place(text, at) for at in (begin, begin + len(fault.before)))
    return Fault(path, line, column, end_line, end_column, fault.before, fault.after)


def _place(text: str, at: int) -> tuple[int, int]:
    """Return the number of the line of a position, and the bytes before it in that line."""
    begin = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, at) + 1, len(text[begin:at].encode())


def package_of(path: str, packages: Sequence[str]) -> str:
    """Return the package whose tests are tried for a module: the innermost, or its path if there is none."""
    return max((name for name in packages if path == name or Path(name) in Path(path).parents), key=len, default=path)

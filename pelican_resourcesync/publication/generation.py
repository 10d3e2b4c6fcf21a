"""Write all the documents of one generation of a set to a stage, each before the documents that link to it."""

from collections.abc import Callable
from functools import partial

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.archives import ArchiveWriter
from pelican_resourcesync.publication.documents.contents import Contents
from pelican_resourcesync.publication.documents.documents import Documents
from pelican_resourcesync.publication.documents.writer import Writing
from pelican_resourcesync.publication.dumps.writer import DumpWriter
from pelican_resourcesync.publication.model.layout import PEOPLE
from pelican_resourcesync.publication.model.ranges import Range


class Generation:
    """Writer of the documents of one generation of a set."""

    def __init__(self, writing: Writing, contents: Contents, passed: Callable[[int], None] = lambda _: None) -> None:
        """Create it from where to write and the contents; `passed` is called with the number of bytes just packed."""
        options = writing.options
        self._writing = writing
        self._layout = options.layout
        self._contents = contents
        self._documents = Documents(options.layout, options.describedby or options.layout.uri(PEOPLE), options.edition)
        self._dumps = DumpWriter(writing, self._documents, contents.bytes, passed)

    def write(self) -> dict[Capability, str]:
        """Write every document of the set; return the paths of those that its Capability List names, by capability."""
        archives = ArchiveWriter(self._writing, self._documents, self._dumps, self._contents.at).write(self._contents)
        found = {**self._states(archives), **self._changes(archives), **archives}
        capabilities = {each: found[each] for each in Capability if each in found}
        self._writing.put(self._layout.capability_list, self._documents.capability_list(capabilities))
        return capabilities

    def _states(self, archives: dict[Capability, str]) -> dict[Capability, str]:
        """Write the Resource List and the Resource Dump; return their paths by capability."""
        layout, contents = self._layout, self._contents
        archive = archives.get(Capability.RESOURCELIST_ARCHIVE, "")
        document = self._documents.resource_list(contents.at, contents.listed, archive)
        part = partial(layout.resource_list_part, contents.at)
        self._writing.put_parts(layout.resource_list, document, part)
        found = {Capability.RESOURCELIST: layout.resource_list}
        if contents.dump is not None:
            self._dumps.resource_dump(contents.dump, contents.at, archives.get(Capability.RESOURCEDUMP_ARCHIVE, ""))
            found[Capability.RESOURCEDUMP] = layout.resource_dump
        return found

    def _changes(self, archives: dict[Capability, str]) -> dict[Capability, str]:
        """Write the Change Lists, the Change Dumps and their indexes; return the indexes' paths by capability."""
        layout, contents = self._layout, self._contents
        found = {}
        for each in contents.ranges:
            self._change_list(each)
        if contents.ranges:
            archive = archives.get(Capability.CHANGELIST_ARCHIVE, "")
            index = found[Capability.CHANGELIST] = layout.change_list_index
            self._writing.put(index, self._documents.change_list_index(contents.ranges, archive))
        for dumped in contents.dumped:
            self._dumps.change_dump(dumped)
        if contents.dumped:
            archive = archives.get(Capability.CHANGEDUMP_ARCHIVE, "")
            index = found[Capability.CHANGEDUMP] = layout.change_dump_index
            self._writing.put(index, self._documents.change_dump_index(contents.dumped, archive))
        return found

    def _change_list(self, commit_range: Range) -> None:
        path = self._layout.change_list(commit_range.start)
        if commit_range.carried and self._writing.previous:
            self._writing.carry(path)
        else:
            self._writing.put(path, self._documents.change_list(commit_range))

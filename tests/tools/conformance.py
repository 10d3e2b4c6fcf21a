"""The table of `docs/conformance.md`: what each rule asks, who writes it, who checks it, and which test proves it.

`python -m tests.tools.conformance > docs/conformance.md` writes it anew; `tests/test_conformance.py` holds the file to it.
"""

import sys
from collections.abc import Iterator

from pelican_resourcesync.checker import RULES, UNCHECKED
from tests.checker.between import DEEP, FAULTS, HOSTED
from tests.checker.faults import ALONE, PACKED
from tests.checker.faults import FAULTS as SINGLE

CHAPTERS = {
    "X": "Every document",
    "SD": "Source Description",
    "CL": "Capability List",
    "RL": "Resource List",
    "RD": "Resource Dump",
    "CH": "Change List",
    "CD": "Change Dump",
    "LN": "Links to related resources",
    "AR": "Archives",
    "DI": "Discovery",
    "V11": "The edition of 2017",
    "CN": "Change Notification",
    "DE": "Destination",
    "EA": "The early draft of 2012",
}

#: What the rules ask that no function checks, in our words.
ASKS = {
    "X16": "A document with until is closed and never changes again",
    "CH08": "From a closed Change List, a Destination finds the next one through index, or else through up",
    "V1102": "lastmod of a change may be omitted, and may be any modification time that HTTP reports for the resource",
    "V1103": "A change has lastmod and datetime, both with its time, which is valid in both editions",
    "LN06": "A resource may link to its collections",
    "CN02": "The Source posts notifications to the hub, with links to the topic and the hub",
    "CN03": "The response for the topic's URI has the same links; each set has one topic",
    "DE01": "A Destination copies everything from a Resource List or a Resource Dump",
    "DE02": "A Destination continues from Change Lists or Change Dumps",
    "DE03": "A Destination finds the first change that it has not yet processed",
    "DE04": "A Destination audits its copy",
    "DE05": "A Destination ignores links that it does not understand",
    "DE06": "A Destination catches up, or restores a past state, from archives",
    "EA01": "Tags for selective synchronisation became sets of resources, and links of LN06",
    "EA02": "A memory of changes in linked files became Change Lists and their archives: CH07, AR06",
    "EA03": "A memory of changes in a database became publishing from a database",
    "EA04": "Notification by HTTP callback became CN01 to CN04",
    "EA05": "Notification by XMPP has the payload of CN01",
    "EA06": "Dumps with a manifest became RD01 to RD07 and CD01 to CD05",
    "EA07": "Alternative URIs for fetching became LN01 and LN02",
    "EA08": "A memory of resources became LN05",
    "EA09": "Millions of resources, and thousands of changes a day",
    "EA10": "Millions of resources, and changes every second",
    "EA11": "Years of changes in one archive",
}

#: Who writes what a rule asks for, in `pelican_resourcesync` or `repo_bridge/`, and which test shows it, in `tests`.
WRITTEN = """
X01 protocol/writer.py protocol/test_writer.py::test_bytes_by_hand
X02 protocol/writer.py protocol/test_writer.py::test_document_that_is_refused
X03 protocol/attributes.py protocol/test_writer.py::test_metadata_that_is_refused
X04 protocol/writer.py protocol/test_writer.py::test_any_limits
X05 protocol/values.py protocol/test_values.py::test_rendering
X06 protocol/attributes.py protocol/test_writer.py::test_link_that_is_refused
X07 protocol/attributes.py protocol/test_writer.py::test_link_that_is_refused
X08 publication/model/resource.py publication/model/test_resource.py::test_represent
X09 publication/model/resource.py,system/media_types.py publication/model/test_resource.py::test_represent
X10 protocol/values.py protocol/test_writer.py::test_loc_that_is_refused
X11 protocol/writer.py protocol/test_writer.py::test_bytes_by_hand
X12 publication/documents.py publication/test_documents.py::test_change_list_archive
X13 publication/documents.py publication/test_sets.py::test_each_is_a_publication_by_itself
X14 publication/documents.py publication/test_documents.py::test_change_list
X15 publication/model/ranges.py publication/model/test_ranges.py::test_every_change_lies_in_one_range
X16 publication/disk/staging.py programs/test_sample_site.py::test_publications_one_after_another_add_up
SD01 publication/documents.py publishers/folder/test_discovery.py::test_well_known_reachable
SD02 publication/documents.py publication/test_documents.py::test_description
SD03 publication/documents.py publication/test_documents.py::test_description
SD04 publication/documents.py publication/test_documents.py::test_description
SD05 publication/documents.py publication/test_documents.py::test_description
CL01 publication/documents.py publication/test_documents.py::test_capability_list
CL02 publication/documents.py publication/test_documents.py::test_capability_list
CL03 publication/documents.py publication/test_documents.py::test_capability_list
CL04 publication/documents.py publication/test_documents.py::test_capability_list
CL05 publication/documents.py publication/test_documents.py::test_capability_list
CL06 publication/publish.py,repo_bridge/plan.py programs/test_sample_site.py::test_publications_one_after_another_add_up
CL07 publication/documents.py publication/test_documents.py::test_capability_list
CL08 publication/documents.py publication/test_documents.py::test_capability_list
RL01 publication/documents.py publication/test_documents.py::test_resource_list
RL02 publication/publish.py programs/test_sample_site.py::test_sample_site_adds_up_whatever_the_ranges
RL03 publication/documents.py publication/test_documents.py::test_resource_list
RL04 protocol/writer.py publication/test_generation.py::test_resource_list_in_parts
RD01 publication/documents.py programs/test_everything.py::test_walk_meets_every_document_and_no_fault
RD02 publication/kinds/dumps.py programs/test_everything.py::test_walk_meets_every_document_and_no_fault
RD03 publication/kinds/packages.py publication/kinds/dumps/test_package.py::test_other_readers
RD04 publication/kinds/packages.py publication/kinds/dumps/test_package.py::test_resource_dump_package
RD05 publication/kinds/packages.py publication/kinds/dumps/test_package.py::test_resource_dump_package
RD06 publication/kinds/packages.py publication/kinds/dumps/test_paths.py::test_any_uris
RD07 publication/kinds/packages.py,publication/documents.py publication/kinds/dumps/test_packing.py::test_any_division
CH01 publication/documents.py publication/test_documents.py::test_change_list
CH02 publication/documents.py publication/test_documents.py::test_change_list
CH03 publication/model/ranges.py publication/model/test_ranges.py::test_in_steps_or_in_one_go
CH04 publication/comparison/changes.py publication/comparison/test_changes.py::test_changes_lead_from_previous_to_now
CH05 publication/comparison/changes.py publication/test_publish.py::test_several_told_changes_are_one
CH06 publication/model/ranges.py publication/model/test_ranges.py::test_every_change_lies_in_one_range
CH07 publication/documents.py publication/test_documents.py::test_change_list_index
CH08 publication/documents.py programs/test_ten_publications.py::test_ten_publications_are_followed
CD01 publication/documents.py programs/test_everything.py::test_change_dumps_say_what_change_lists_say
CD02 publication/kinds/packages.py publication/kinds/dumps/test_package.py::test_change_dump_package
CD03 publication/kinds/packages.py publication/kinds/dumps/test_package.py::test_change_dump_package
CD04 publication/kinds/packages.py publication/kinds/dumps/test_package.py::test_change_dump_package
CD05 publication/documents.py programs/test_everything.py::test_walk_meets_every_document_and_no_fault
LN01 publication/model/versions.py publication/comparison/test_parts.py::test_links_to_mirrors
LN02 publishers/pelican/resources.py,publishers/folder.py,repo_bridge/records/resources.py publishers/folder/test_publish.py::test_alternates
LN03 publication/kinds/patches.py publication/kinds/test_patches.py::test_updates
LN04 repo_bridge/records/resources.py repo_bridge/records/test_resources.py::test_record
LN05 publication/kinds/versions.py publication/kinds/test_versions.py::test_links
LN06 publishers/pelican/resources.py,repo_bridge/records/resources.py programs/test_everything.py::test_entries_lead_to_category_and_tags
LN07 destination/links.py,publishers/aggregator.py destination/test_aggregator.py::test_entries
AR01 publication/kinds/lists.py publication/kinds/test_archives.py::test_the_last_state_of_each_closed_range_stays
AR02 publication/kinds/lists.py publication/kinds/test_archives.py::test_the_last_state_of_each_closed_range_stays
AR03 publication/documents.py publication/test_documents.py::test_change_list_archive
AR04 publication/documents.py protocol/test_writer.py::test_any_limits
AR05 publication/documents.py publication/test_documents.py::test_change_list_index
AR06 publication/model/ranges.py publication/model/test_ranges.py::test_every_change_lies_in_one_range
DI01 publication/documents.py publishers/folder/test_discovery.py::test_well_known_reachable
DI02 publishers/static_site/discovery.py programs/test_plugin.py::test_every_page_of_the_set_links_to_the_capability_list
DI03 publishers/static_site/discovery.py programs/test_plugin.py::test_headers_link_to_the_capability_list
DI04 publishers/static_site/discovery.py programs/test_plugin.py::test_robots_names_the_resource_list
V1101 publication/documents.py protocol/test_writer.py::test_edition_of_2014_by_hand
V1102 publication/documents.py protocol/test_writer.py::test_edition_of_2014_by_hand
V1103 publication/documents.py protocol/test_writer.py::test_edition_of_2014_by_hand
V1104 publication/documents.py publication/test_documents.py::test_change_list
V1105 protocol/writer.py,system/media_types.py programs/test_sample_site.py::test_all_documents_are_valid
CN01 publication/kinds/lists.py publication/kinds/test_notifications.py::test_each_continues_the_last
CN02 delivery/announce.py delivery/announce/test_hubs.py::test_pings
CN03 publishers/static_site/discovery.py delivery/announce/test_hubs.py::test_a_hub_that_none_of_us_wrote
CN04 publication/documents.py publication/kinds/test_notifications.py::test_the_channel_is_advertised
DE01 destination/plan.py destination/test_mirror.py::test_baseline_and_changes
DE02 destination/plan.py campaigns/copy/test_life.py::test_life
DE03 destination/plan.py destination/test_source.py::test_change_lists_that_cannot_be_used
DE04 destination/mirroring.py destination/test_mirror.py::test_audit_and_repair
DE05 source/lists.py destination/test_others.py::test_examples_of_the_standard
DE06 destination/past.py,source/lists.py destination/test_past.py::test_every_time
EA01 publishers/pelican/resources.py,repo_bridge/records/resources.py programs/test_everything.py::test_sets_are_what_the_sources_say
EA02 publication/documents.py,publication/model/ranges.py publication/test_documents.py::test_change_list_index
EA03 repo_bridge/publisher.py campaigns/repository/test_living.py::test_harvesters_see_what_was_written_by_hand
EA04 delivery/announce.py delivery/announce/test_hubs.py::test_pings
EA05 delivery/announce.py delivery/announce/test_xmpp.py::test_from_announce_to_follow
EA06 publication/kinds/packages.py publication/kinds/dumps/test_package.py::test_resource_dump_package
EA07 publication/model/versions.py publication/comparison/test_parts.py::test_links_to_mirrors
EA08 publication/kinds/versions.py publication/kinds/test_versions.py::test_links
EA09 publication/comparison/parts.py publication/test_scale.py::test_three_hundred_thousand_resources
EA11 publication/kinds/lists.py publication/kinds/test_archives.py::test_the_last_state_of_each_closed_range_stays
"""

#: What is not written, and why.
NOT_WRITTEN = {
    "SD06": "one Source Description lists all sets",
    "EA10": "the changes between two runs are published together, and a run over millions of resources takes minutes",
}

#: The rules that the seeded faults break, and the test that shows that each fault is found by its rule and no other.
SEEDED = {
    *(name.split()[0] for name in [*ALONE, *PACKED, *FAULTS]),
    *(fault.rule for fault in SINGLE),
    *(rule.split()[0] for _, rule in [*HOSTED.values(), *DEEP.values()]),
}
SEEDED_TEST = "checker/test_rules.py::test_every_fault_is_found_by_its_rule"

HEAD = """\
# Conformance

The rules of ResourceSync (ANSI/NISO Z39.99), with the identifiers that [`check`](check.md) reports. Each row has:

- the requirement, and its level: breaking a MUST is an error, and breaking a SHOULD or RECOMMENDED is a warning;
- the module that writes documents by this rule, in `pelican_resourcesync`, or in `repo_bridge` if the path begins so;
- the function of the checker that finds a violation;
- the tests of both.

`tests/campaigns/checker/test_matrix.py::test_settings_together` shows that our publications break no rule.
`tests/checker/test_rules.py::test_every_fault_is_found_by_its_rule` shows that each function is needed.

`tests/tools/conformance.py` generates this page, and a test compares it with the rules.
"""


def identifiers() -> list[str]:
    """Return all identifiers, chapter by chapter."""
    known = {rule.identifier for rule in RULES} | set(UNCHECKED)
    return sorted(known, key=lambda each: (list(CHAPTERS).index(chapter(each)), each))


def chapter(identifier: str) -> str:
    """Return the chapter of an identifier: its letters, and what follows them but for the last two digits."""
    return identifier[:-2]


def written() -> dict[str, tuple[list[str], str]]:
    """Return the modules and the test of each identifier that is written."""
    rows = (line.split() for line in WRITTEN.strip().splitlines())
    return {identifier: (modules.split(","), test) for identifier, modules, test in rows}


def proofs(identifier: str) -> list[str]:
    """Return the tests that show that breaking a rule is found."""
    return [SEEDED_TEST] if identifier in SEEDED else []


def table() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for name, title in CHAPTERS.items():
        of_chapter = [each for each in identifiers() if chapter(each) == name]
        parts.append(f"\n## {name} · {title}\n\n")
        parts.append("| rule | requirement | level | written by | checked by | tests |\n|---|---|---|---|---|---|\n")
        parts += [f"| {' | '.join(_cells(each))} |\n" for each in of_chapter]
    return "".join(parts)


def _cells(identifier: str) -> Iterator[str]:
    rules = [rule for rule in RULES if rule.identifier == identifier]
    yield identifier
    yield ". ".join(dict.fromkeys(rule.sentence for rule in rules)) or ASKS[identifier]
    yield ", ".join(dict.fromkeys(rule.level for rule in rules)) or "no"
    modules, test = written().get(identifier, ([], ""))
    yield ", ".join(f"`{module}`" for module in modules) or f"not written: {NOT_WRITTEN[identifier]}"
    checks = (f"{rule.check.__module__.rpartition('.checker.')[2]}.{rule.check.__name__}" for rule in rules)
    yield ", ".join(f"`{each}`" for each in dict.fromkeys(checks)) or f"not seen from outside: {UNCHECKED[identifier]}"
    tests = [*proofs(identifier), *([test] if test else [])]
    yield ", ".join(f"`tests/{each}`" for each in tests) or "no"


if __name__ == "__main__":
    sys.stdout.write(table())

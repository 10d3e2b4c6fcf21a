"""DSpace's numbers for kinds of objects and actions, and its reserved names."""

from enum import IntEnum

#: The only action of a policy that lets somebody see an object (rule 3).
READ = 0

#: The group that everybody is in, logged in or not; version 5 identifies it by number only.
ANONYMOUS, ANONYMOUS_ID = "Anonymous", 0


class ObjectType(IntEnum):
    """Kinds of objects, with the values of `resource_type_id` (rule 3)."""

    BITSTREAM = 0
    BUNDLE = 1
    ITEM = 2
    COLLECTION = 3
    COMMUNITY = 4

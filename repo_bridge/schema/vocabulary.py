"""The numbers that DSpace has for kinds of objects and of actions, and its names that have a meaning."""

from enum import IntEnum

#: The action of a policy that lets somebody see an object; others never do (rule 3).
READ = 0

#: The group that everybody is in, logged in or not; version 5 knows it by its number alone.
ANONYMOUS, ANONYMOUS_ID = "Anonymous", 0


class ObjectType(IntEnum):
    """Kinds of objects, as `resource_type_id` has them (rule 3)."""

    BITSTREAM = 0
    BUNDLE = 1
    ITEM = 2
    COLLECTION = 3
    COMMUNITY = 4

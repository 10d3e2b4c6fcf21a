"""What this package needs of the operating system and of Python: its modules are imported one by one, to start fast."""

__all__ = ["WORK_FOLDER"]

#: The work folder next to the settings file, which is never a source; temporary files in an output begin so, too.
WORK_FOLDER = ".resourcesync"

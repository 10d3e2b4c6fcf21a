"""What this package needs of the operating system and of Python: its modules are imported one by one, to start fast."""

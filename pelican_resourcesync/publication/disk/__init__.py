"""Files on disk: the lock on an output, staging, installation as a whole, and durable file operations."""

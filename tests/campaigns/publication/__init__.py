"""Sets that are published again and again, whatever happens."""

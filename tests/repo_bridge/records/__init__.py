"""What is published of an item."""

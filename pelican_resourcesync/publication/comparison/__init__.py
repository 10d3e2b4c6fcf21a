"""What differs from the previous publication: parts of the Resource List, and changes with their times."""

"""Words that commands share."""


def counted(number: int, noun: str) -> str:
    """Give a number with its noun, as in `1 change` and `2,000 changes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

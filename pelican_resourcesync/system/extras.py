"""What only an extra installs: where it is missing, or is too old, one line says so, and what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from pelican_resourcesync.errors import SettingsError

#: The oldest Pelican that works. Only the extra makes pip ask for it; a site has Pelican already.
_OLDEST_PELICAN = (4, 11)


@contextmanager
def extra(name: str, use: str) -> Iterator[None]:
    """Import in it what the extra `name` installs. Raise `SettingsError`, which begins with its `use`, if it is not."""
    try:
        yield
    except ImportError as error:
        message = f"{use}: pip install 'pelican-resourcesync[{name}]'"
        raise SettingsError(message) from error


def require_pelican(use: str) -> None:
    """Raise `SettingsError`, which begins with its `use`, unless Pelican is installed and new enough."""
    with extra("pelican", use):
        import_module("pelican.plugins.signals")  # without Pelican, there is our own `pelican.plugins`
    version = str(import_module("pelican").__version__)  # "unknown" if it was not installed with pip
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and tuple(map(int, numbers.groups())) < _OLDEST_PELICAN:
        needed = ".".join(map(str, _OLDEST_PELICAN))
        message = f"Pelican {version} is too old ({needed} or newer is needed): pip install --upgrade pelican"
        raise SettingsError(message)

"""Packages built twice are the same bytes."""

import os
import subprocess
import sys

ENVIRONMENTS = (
    {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1", "LC_ALL": "C"},
    {"TZ": "America/St_Johns", "PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8"},
    {"TZ": "UTC", "PYTHONHASHSEED": "0", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)


def test_two_machines_build_the_same_package() -> None:
    """In other time zones, locales and hash orders, package and manifest are the same byte for byte."""
    command = [sys.executable, "-m", "tests.publication.kinds.dumps.building"]
    built = [
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **each}).stdout.split()
        for each in ENVIRONMENTS
    ]
    assert len(built[0]) == 2
    assert built == [built[0]] * 3

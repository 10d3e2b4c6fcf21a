"""A MariaDB for the tests, if the system has one (Debian: `mariadb-server`); as root, it runs as nobody."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

import pymysql
import pytest

from tests.kit.postgresql import server_folder

_NOBODY = 65534
_PATH = os.pathsep.join([*os.get_exec_path(), "/usr/sbin"])


class MariaDb:
    """A running server, reached at a socket."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._numbers = count()

    def database(self, script: str, user: str = "root") -> str:
        """Create a database with the tables of a script; return its URL."""
        name = f"bridge_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        statements = [each for each in script.replace(" TIMESTAMP", " DATETIME").split(";\n") if each.strip()]
        self.execute(f"USE {name}", *statements)
        return f"mysql://{user}@localhost/{name}?unix_socket={self.socket}"

    def execute(self, *statements: str) -> None:
        """Execute statements of standard SQL."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def connect(self) -> Any:
        """Open a connection as the owner of everything."""
        return pymysql.connect(unix_socket=str(self.socket), user="root", sql_mode="ANSI", autocommit=True)


@contextmanager
def running() -> Iterator[MariaDb]:
    """Yield a server with a new folder; skip the test where there is none."""
    install, server = (shutil.which(name, path=_PATH) for name in ("mariadb-install-db", "mariadbd"))
    if not install or not server:
        pytest.skip("MariaDB is not installed: apt-get install mariadb-server")
    folder = server_folder("mariadb-")
    who: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    who["env"] = {**os.environ, "TMPDIR": str(folder)}  # where it may write, whoever runs it
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
        who |= {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
    data, socket = folder / "data", folder / "socket"
    options = ["--no-defaults", f"--datadir={data}"]
    create = [install, *options, "--auth-root-authentication-method=normal", "--skip-test-db"]
    start = [server, *options, f"--socket={socket}", "--skip-networking", "--innodb-flush-log-at-trx-commit=0"]
    try:
        subprocess.run(create, check=True, **who)
        with subprocess.Popen([*start, "--innodb-buffer-pool-size=16M"], **who) as process:
            try:
                yield _reached(MariaDb(socket))
            finally:
                process.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reached(server: MariaDb) -> MariaDb:
    for _ in range(600):
        if server.socket.exists():
            return server
        sleep(0.1)
    pytest.fail("MariaDB did not start within a minute")

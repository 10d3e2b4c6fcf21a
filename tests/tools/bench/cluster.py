"""Publishes a table from a bucket by a real cluster: `python -m tests.tools.bench.cluster FOLDER COUNT`.

It starts an S3 server (moto's), a Dask scheduler and two workers, each a process of its own, with nothing in common but
the bucket. They sort a table of COUNT resources in eight files, and write its parts into the bucket; then a second
table of which 0.1 % is different. One process then publishes both from the disk. It prints the time by the clock of
each, the most memory of a worker, and whether the bytes are the same.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import duckdb

from pelican_resourcesync.http import BucketPath
from tests.kit.bucket import CREDENTIALS
from tests.kit.live import closed_port
from tests.kit.repository.press import files_in
from tests.tools.bench.tables import make

_FILES = 8
_SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request"}


@contextmanager
def started(folder: Path, *command: str) -> Iterator[int]:
    """Run a program of this environment as long as the block lasts."""
    program = Path(sys.executable).with_name(command[0])
    folder.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [program, *command[1:]], cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def peak(process: int) -> int:
    """Return the most memory that a process or one of its children has held, in MB."""
    place = Path("/proc", str(process))
    held = int((place / "status").read_text("utf-8").partition("VmHWM:")[2].split()[0]) // 1024
    children = [each for file in place.glob("task/*/children") for each in file.read_text("ascii").split()]
    return max([held, *(peak(int(each)) for each in children)])


def publish(folder: Path, table: str, day: int, *more: str) -> None:
    """Publish a table, and print how long it took."""
    begin = time.perf_counter()
    command = [
        sys.executable, "-m", "repo_bridge", "publish", "--table", table, "--base-url", "https://repository.example",
    ]  # fmt: skip
    command += ["--out", str(folder / "public"), "--previous", "output", "--at", f"2026-01-{day:02}T00:00:00Z", *more]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    print(f"publication {day} {' '.join(more)}: {time.perf_counter() - begin:.1f} s", flush=True)


def main(folder: Path, count: int) -> None:
    """Publish with a cluster, and with one process."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    s3, scheduler = closed_port(), closed_port()
    os.environ |= {**CREDENTIALS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3}"}
    with ExitStack() as stack:
        stack.enter_context(started(folder, "moto_server", "-p", str(s3)))
        stack.enter_context(
            started(folder / "scheduler", "dask", "scheduler", "--port", str(scheduler), "--no-dashboard")
        )
        worker = ["dask", "worker", f"tcp://127.0.0.1:{scheduler}", "--nthreads", "1", "--no-dashboard"]
        workers = [stack.enter_context(started(folder / f"worker{number}", *worker)) for number in "12"]
        _create(f"http://127.0.0.1:{s3}/bucket")
        bucket = BucketPath("s3://bucket/site")
        for day in (1, 2):
            make(folder / f"{day}.parquet", count, day)
            for each in range(_FILES):
                part = folder / f"{day}-{each}.parquet"
                duckdb.sql(f"COPY (FROM '{folder}/{day}.parquet' WHERE hash(uri) % {_FILES} = {each}) TO '{part}'")
                (BucketPath("s3://bucket/listing") / part.name).write_bytes(part.read_bytes())
            among = ["--bucket", str(bucket), "--cluster", f"tcp://127.0.0.1:{scheduler}"]
            among += ["--memory", os.environ.get("MEMORY", "1GB")]
            publish(folder / "cluster", f"s3://bucket/listing/{day}-*.parquet", day, *among)
        print(f"a worker held {max(map(peak, workers)):,} MB at most")
        for path in bucket.glob("resourcesync/*/resourcelist-*.xml"):
            file = folder / "bucket" / path.url.removeprefix(f"{bucket}/")
            file.parent.mkdir(parents=True, exist_ok=True)
            path.save(file)
    for day in (1, 2):
        publish(folder / "one", str(folder / f"{day}-*.parquet"), day)
    one, found = files_in(folder / "one/public"), files_in(folder / "cluster/public") | files_in(folder / "bucket")
    print("the same bytes" if one == found else f"OTHER BYTES: {min({*one.items()} ^ {*found.items()})[0]}")


def _create(url: str) -> None:
    """Create a bucket, as soon as the server answers."""
    for _ in range(100):
        try:
            urlopen(Request(url, method="PUT", headers=_SIGNED)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

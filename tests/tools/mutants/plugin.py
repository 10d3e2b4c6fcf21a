"""A pytest plugin: it notes what tests cost, and tries faults in forks of a run that has collected its tests.

Such a fork imports and collects nothing, and functions get their faulty code in place, so most faults take less than a
second. A fault in what runs when a module is imported needs a new process.
"""

import contextlib
import gc
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from hypothesis import Phase, settings

#: Files: what each test costs without any fault, which faults to try with which tests, and where to write the results.
COSTS, FAULTS, RESULTS = "MUTANTS_COSTS", "MUTANTS_FAULTS", "MUTANTS_RESULTS"
#: The tests that are collected, one a line; all of the files named to pytest without it.
TESTS = "MUTANTS_TESTS"
#: The last of pytest's options: tests follow.
LAST = "-x"
#: A test may take so many times as long as without any fault, and so many seconds more: of processors, and in all.
_PATIENCE, _PROCESSOR, _WALL = 10.0, 5.0, 12.0
_MEMORY = 4 << 30  # bytes
_MTIME = 1_000_000_000  # of the first faulty module; each has another, so that no compiled one is mistaken for it
_limits: dict[str, tuple[float, float]] = {}
_costs: dict[str, tuple[float, float]] = {}
_failed: set[str] = set()


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Find failures, and do not simplify them."""
    settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("mutants")
    if Path(os.environ[COSTS]).exists():
        _limits.update(json.loads(Path(os.environ[COSTS]).read_text("utf-8")))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests that are not asked for."""
    if asked := os.environ.get(TESTS):
        items[:] = [item for item in items if item.nodeid in asked.splitlines()]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note how long a test takes, in seconds of processors and in all, and let it not take far longer with a fault."""
    if item.nodeid in _limits:
        processor, wall = _limits[item.nodeid]
        limit = math.ceil(time.process_time() + _PROCESSOR + _PATIENCE * processor)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_REAL, _WALL + _PATIENCE * wall)
    _running().write_text(item.nodeid, "utf-8")
    processor, wall = sum(os.times()[:4]), time.monotonic()
    try:
        return (yield)
    finally:
        _costs[item.nodeid] = sum(os.times()[:4]) - processor, time.monotonic() - wall


def _running() -> Path:
    """Return the file that names the test that runs, or was the last."""
    return Path(os.environ[COSTS]).with_name("running.txt")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note that a test fails without any fault: it shows nothing."""
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write down what each test cost, after the run without any fault."""
    if not Path(os.environ[COSTS]).exists():
        costs = {name: each for name, each in _costs.items() if name not in _failed}
        Path(os.environ[COSTS]).write_text(json.dumps(costs), "utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Try faults, if there are any: each in a fork of this process, in which pytest goes on with the fault's tests."""
    if FAULTS not in os.environ:
        return None
    items = {item.nodeid: item for item in session.items}
    trials = json.loads(Path(os.environ.pop(FAULTS)).read_text("utf-8"))
    with os.fdopen(int(os.environ.pop(RESULTS)), "w") as results:
        os.set_inheritable(results.fileno(), False)
        for number, (path, faulty, tests, is_imported) in enumerate(trials):
            file = Path(path)
            source, before = file.read_text("utf-8"), file.stat()
            file.write_text(faulty, "utf-8")
            os.utime(file, (_MTIME + number, _MTIME + number))
            _running().write_text("", "utf-8")
            temporary = tempfile.mkdtemp()
            Path(temporary).chmod(0o755)  # servers of databases run as another user
            child = os.fork()
            if not child:
                os.setsid()
                os.environ["TMPDIR"] = tempfile.tempdir = temporary
                resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
                if faulty != source and (is_imported or not replace_functions(file, source, faulty)):
                    os.execv(sys.executable, [*sys.orig_argv[: sys.orig_argv.index(LAST) + 1], *tests])
                session.items = [items[name] for name in tests]
                return None
            result = _wait(child, 2 * _WALL + _PATIENCE * sum(_limits[name][1] for name in tests))
            print(result, _running().read_text("utf-8"), file=results, flush=True)
            shutil.rmtree(temporary, ignore_errors=True)
            file.write_text(source, "utf-8")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    return True


def _wait(child: int, seconds: float) -> int:
    """Return the exit status of a process, negative if a signal ended it, and end what it started."""
    end = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(ended[1] if ended[0] else os.waitpid(child, 0)[1])


def replace_functions(file: Path, source: str, faulty: str) -> bool:
    """Replace the code of a module's functions by that with a fault; return whether the fault changes nothing else.

    All of the module's functions are found, whoever has imported or wrapped them.
    """
    name = str(file.absolute())
    before, after = (compile(text, name, "exec", dont_inherit=True) for text in (source, faulty))
    old, new = _functions(before), _functions(after)
    changed = {key for key, code in new.items() if old.get(key) != code}
    if not changed or old.keys() != new.keys() or _outside(before) != _outside(after):
        return False
    done = set()
    gc.unfreeze()  # what is frozen is not among the objects
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        code = function.__code__
        key = code.co_qualname, code.co_firstlineno
        if code.co_filename == name and key in changed:
            if code.co_freevars != new[key].co_freevars:
                return False
            function.__code__ = new[key]
            done.add(key)
    return all(key in done for key in changed if "<locals>" not in key[0])


def _functions(code: CodeType) -> Mapping[tuple[str, int], CodeType]:
    """Return the functions of a module and its classes, and those in other functions, of which some may exist."""
    found = {}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_flags & 0x2:  # new locals: a function, not a class
                found[each.co_qualname, each.co_firstlineno] = each
            found.update(_functions(each))
    return found


def _outside(code: CodeType) -> object:
    """Return what a module or class does, without what its functions do."""
    constants = [
        each if not isinstance(each, CodeType) else None if each.co_flags & 0x2 else _outside(each)
        for each in code.co_consts
    ]
    return code.co_code, repr(constants), code.co_names

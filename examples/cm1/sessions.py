"""Ends all processes of a run. Those of an MPI run are groups of their own in the session that its launcher began.

Used by: run_cm1.py, the benchmarks. Before it: a process started with start_new_session. After it: no process of its session.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

PAUSE_S = 0.01
KILLED_S = 10  # more than a killed process needs, but for one that waits in the kernel for a disk


def end_session(leader, patience_s):
    """Gives its processes this long to end by themselves, and kills what is left. It has been asked before."""
    asked = time.monotonic()
    while (found := list(members(leader))) and time.monotonic() < asked + patience_s + KILLED_S:
        if time.monotonic() >= asked + patience_s:
            kill(found)
        time.sleep(PAUSE_S)


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def members(session):
    """Its processes that run; what has ended only waits for its parent."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state not in "ZX":
                yield int(path.parent.name)

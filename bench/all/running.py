"""One part as a process of its own: its output to a log, its end awaited, nothing of it left behind.

Used by: campaign.py. Before it: a command line. After it: '' or the reason why it failed.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

from parts import seconds_of

PATIENCE = 5  # times the expected time, and at least:
LEAST_S = 1200
END_S = 30  # for ending its own processes
LOG_BYTES = 4000


def run_part(part, words, log, quick, tick):
    """tick: called several times a second. Interrupted, it ends the part first."""
    limit = max(LEAST_S, PATIENCE * seconds_of(part, quick))
    begin = time.monotonic()
    with open(log, "wb") as out:
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as failure:
            return f"it cannot be started: {failure}"
        try:
            while process.poll() is None and time.monotonic() - begin < limit:
                tick()
                time.sleep(0.2)
            late = process.poll() is None
        finally:
            end(process)
    if late:
        return f"it was not done after {limit} s"
    return "" if process.returncode == 0 else f"it ended with {process.returncode}{said(log)}"


def end(process):
    """Asks it first: the benchmarks take their own processes and files with them."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    for region in regions(process.pid):
        region.unlink(missing_ok=True)


def regions(pid):
    """What a killed benchmark leaves in shared memory: the names hold its number, so nobody else's is touched."""
    memory, user = Path("/dev/shm"), os.geteuid()
    return [*memory.glob(f"damaris.{user}.bench-{pid}.*"), *memory.glob(f"damaris.bench.*.{pid}"), *memory.glob(f"damaris.bench.{pid}")]


def said(log):
    lines = tail(log, 1)
    return f": {lines[0]}" if lines else ""


def tail(log, lines):
    """The last lines of a log that say something."""
    with open(log, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - LOG_BYTES))
        text = file.read().decode(errors="replace")
    return [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]

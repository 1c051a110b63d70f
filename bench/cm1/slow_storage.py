"""Its side of slow_storage.c: a storage that takes only so many bytes a second of all processes of a run, or that keeps what is closed.

Used by: bench_cm1.py, bench_phases.py. Before it: a folder for a run. After it: what the run needs in its environment.
"""

import ctypes
import os
import re
import struct
from contextlib import contextmanager
from pathlib import Path

from run_cm1 import RunFailed

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


class Slow:
    """The queue that all processes of the run share, where there is one."""

    def __init__(self, queue=None, environment=None):
        self.queue = queue
        self.environment = environment or {}

    def check(self, stored, way, remedy):
        """Raises RunFailed where less has passed the queue than the run has stored."""
        passed = struct.unpack("qQQ", self.queue.read_bytes())[1] if self.queue else stored
        if passed < 0.95 * stored:
            raise RunFailed(f"only {passed} of {stored} bytes of a run with {way} passed the slow storage: this library "
                            f"writes in a way that bench/storage/slow_storage.c does not see; {remedy}")


@contextmanager
def storage(place, rate, sync=False):
    """For a run in `place`/run. rate: bytes per second that all may write; 0: as fast as it is. sync: a close syncs its file."""
    place.mkdir(parents=True, exist_ok=True)
    if not rate and not sync:
        yield Slow()
        return
    library = Path(os.environ["DAMARIS_BUILD_DIR"]) / "bench" / "damaris_bench_slow_storage.so"
    ctypes.CDLL(str(library))  # an error now, not a run that is not slowed down
    (place / library.name).symlink_to(library)
    # From the run's folder: LD_PRELOAD takes no path with a space.
    environment = dict(LD_PRELOAD=f"../{library.name}", DAMARIS_BENCH_UNDER=str(place.resolve() / "run"))
    if sync:
        yield Slow(None, dict(environment, DAMARIS_BENCH_SYNC="1"))
        return
    queue = place / "queue"
    queue.write_bytes(bytes(24))
    yield Slow(queue, dict(environment, DAMARIS_BENCH_RATE=str(rate), DAMARIS_BENCH_QUEUE=str(queue)))


def rate_of(text):
    """Bytes per second of a text such as 20MB/s, 20MB or 20m; None for any other."""
    found = re.fullmatch(r"(\d+)\s*([kmg]?)(b|b/s)?", text.lower())
    return int(found[1]) * UNITS[found[2]] or None if found else None

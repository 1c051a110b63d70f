"""Runs of the mini-app at equal cores, and what they took.

Used by: bench_cm1.py. Before it: settings. After it: runs as README.md describes them.
"""

import json
import shutil
from dataclasses import dataclass

from core_parts import parts_of_cores
from read_cm1 import timers
from run_cm1 import RunFailed, launch, prepare
from slow_storage import storage

WAYS = ["fpp", "collective", "damaris"]
LIMIT_S = 600
STEPS_AN_OUTPUT = 10
STORM = dict(nx=64, ny=64, nz=40, dx=1000.0, dy=1000.0, dz=500.0, dtl=6.0, rstfrq=-1.0, statfrq=6000.0)
QUICK = dict(nx=24, ny=24, nz=20, zd=8000.0)
COMPUTING = ("compute", "statistics", "diagnose")


@dataclass(frozen=True)
class Settings:
    cores: int  # of the run: ranks that compute, and dedicated ones
    outputs: int  # after the first one, at the start
    rate: float  # bytes per second that the storage takes; 0: as fast as it is
    quick: bool
    part: float = 1  # of a core of this machine, that each rank has


def without_output(place, settings, work, dedicated):
    """Compute time in seconds with so many cores less than there are, which nobody uses."""
    return measured(place, settings, dict(work=work, backend="none"), settings.cores - dedicated)["solution_s"]


def run(place, settings, work, way):
    """A run on all cores; damaris has one of them as its dedicated core."""
    with storage(place, settings.rate) as slow:
        found = measured(place / "run", settings, dict(work=work, backend=way), settings.cores, slow.environment)
        slow.check(found["stored_bytes"], way, "use --storage as-is")
    return found


def measured(place, settings, more, ranks, environment=None):
    namelist = dict(STORM, **(QUICK if settings.quick else {}), **more)
    namelist["tapfrq"] = STEPS_AN_OUTPUT * namelist["dtl"]
    namelist["timax"] = settings.outputs * namelist["tapfrq"]
    prepare(place, namelist)
    try:
        with parts_of_cores(ranks, settings.part) as before:
            done = launch(place, ranks, limit_s=LIMIT_S, own_cores=True, environment=environment, before=before)
        seconds = [float(word.split("=")[1]) for word in done.output.split() if word.startswith("time_to_solution_s=")]
        if done.returncode != 0 or not seconds:
            raise RunFailed(f"the mini-app with {more['backend']} on {ranks} ranks ended with {done.returncode}:\n{done.output[-2000:]}")
        return dict(solution_s=seconds[0], **phases_of(place), **stored_by(place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def phases_of(place):
    """Of each output what the slowest rank waited for it; of the rest what rank 0 took."""
    records = timers(place)
    writes = {}
    for _, step, phase, seconds in records:
        if phase == "write":
            writes[step] = max(writes.get(step, 0), seconds)
    return dict(compute_s=sum(seconds for rank, _, phase, seconds in records if rank == 0 and phase in COMPUTING),
                diagnose_s=sum(seconds for rank, _, phase, seconds in records if rank == 0 and phase == "diagnose"),
                writes_s=[writes[step] for step in sorted(writes)])


def stored_by(place):
    record = place / "cm1out.jsonl"
    lines = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    return dict(server_s=[line["stored_s"] for line in lines if "stored_s" in line],
                stored_bytes=sum(path.stat().st_size for path in place.glob("cm1out*.h5")))

"""One run of the mini-app for a benchmark, and what it took.

Used by: bench_cm1.py, bench_compression.py, bench_phases.py. Before it: a namelist. After it: a run as README.md describes it.
"""

import json
import os
import re

from core_parts import parts_of_cores
from read_cm1 import timers
from run_cm1 import RunFailed, launch, prepare

LIMIT_S = 600
STORM = dict(nx=64, ny=64, nz=40, dx=1000.0, dy=1000.0, dz=500.0, dtl=6.0, rstfrq=-1.0, statfrq=6000.0)
QUICK = dict(nx=24, ny=24, nz=20, zd=8000.0)
STEPS_AN_OUTPUT = 10
COMPUTING = ("compute", "statistics", "diagnose")


def with_outputs(outputs, **more):
    """A namelist with so many outputs after the first one, which comes at the start."""
    period = STEPS_AN_OUTPUT * STORM["dtl"]
    return dict(more, tapfrq=period, timax=outputs * period)


def run(place, ranks, namelist, quick=False, part=1, environment=None, servers=1, **hdf5):
    """part: of a core, for each rank. hdf5: attributes of the XML's <hdf5>. Leaves the folder to its caller."""
    prepare(place, {**STORM, **(QUICK if quick else {}), **namelist}, servers, **hdf5)
    with parts_of_cores(ranks, part) as before:
        fits = part < 1 or ranks <= len(os.sched_getaffinity(0))
        done = launch(place, ranks, limit_s=LIMIT_S, own_cores=fits, environment=environment, before=before)
    seconds = re.findall(r"time_to_solution_s=(\S+)", done.output)
    if done.returncode != 0 or not seconds:
        raise RunFailed(f"the mini-app with {namelist['backend']} on {ranks} ranks ended with {done.returncode}:\n{done.output[-2000:]}")
    return dict(solution_s=float(seconds[0]), **phases_of(place), **stored_by(place))


def phases_of(place):
    """Of each output what each rank waited for it, of each step and of the rest what rank 0 took."""
    records = timers(place)
    writes = {}
    for _, step, phase, seconds in records:
        if phase == "write":
            writes.setdefault(step, []).append(seconds)
    first = [(phase, seconds) for rank, _, phase, seconds in records if rank == 0]
    ranks_s = [writes[step] for step in sorted(writes)]
    return dict(ranks_s=ranks_s, writes_s=[max(times) for times in ranks_s],
                steps_s=[seconds for phase, seconds in first if phase == "compute"],
                compute_s=sum(seconds for phase, seconds in first if phase in COMPUTING),
                diagnose_s=sum(seconds for phase, seconds in first if phase == "diagnose"))


def stored_by(place):
    """files: all that hold output. Of damaris also what its manifest tells."""
    record = place / "cm1out.jsonl"
    lines = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    files = [path for path in place.glob("cm1out*/*") if path.is_file()] + list(place.glob("cm1out*.h5"))
    return dict(server_s=[line["stored_s"] for line in lines if "stored_s" in line],
                memory_bytes=max((line["memory_bytes"] for line in lines if "memory_bytes" in line), default=0),
                files=len(files), stored_bytes=sum(path.stat().st_size for path in files))

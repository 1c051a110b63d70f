"""What is said about runs: pooled times, throughput, idle share, how busy the dedicated core is, and the rows.

Used by: bench_phases.py and the pictures. Before it: runs as README.md describes them. After it: numbers.
"""

import numpy as np

from quotients import pooled_quantiles, row
from storage import names_of, of_storage

ROWS = {"file-per-process": ("write phase seen by the simulation, median: file per process / damaris", 10, 30),
        "collective": ("write phase seen by the simulation, median: collective / damaris", 30, 100)}
MEMCPY_ROW = ("slowest rank of a write phase over its own memcpy", 10, 3)
BUSY = 0.9  # of the time between two phases: from there on the dedicated core hardly keeps up


def slowest(run):
    """How long each phase kept the simulation: its slowest process. Seconds."""
    return [max(times) for times in run["visible_s"]]


def median_phase(detail):
    return float(np.median(np.concatenate([slowest(run) for run in detail["runs"]])))


def all_times(runs):
    return np.concatenate([np.ravel(run["visible_s"]) for run in runs])


def throughput(run):
    """Apparent, of each phase: raw bytes of all processes by the time of the slowest. Bytes per second."""
    return [sum(run["bytes"]) / seconds for seconds in slowest(run)]


def idle_share(times):
    """Of the time of all processes from the common start to the end of the slowest: what they waited."""
    return 1 - sum(times) / (len(times) * max(times))


def processor_time(run):
    """Of all computing processes in each phase. Seconds."""
    return [sum(times) for times in run["cpu_s"]]


def over_memcpy(run):
    """The slowest process of each phase, in copies: its time by the median of its own copies."""
    copies = np.median(run["memcpy_s"], axis=0)
    return [float(max(times) / copies[int(np.argmax(times))]) for times in run["visible_s"]]


def too_busy(details):
    """(way, storage, s of a phase that the dedicated core writes, s between two phases) where it hardly keeps up."""
    for detail in details:
        servers = [run["server"] for run in detail["runs"] if "server" in run]
        if not servers or not servers[0]["interval_s"]:
            continue
        write, interval = (float(np.median(np.concatenate([server[key] for server in servers]))) for key in ("write_s", "interval_s"))
        if write > BUSY * interval:
            yield detail["way"], detail["storage"], write, interval


def rows_of(details):
    runs = {name: {detail["way"]: detail["runs"] for detail in of_storage(details, name)} for name in names_of(details)}
    return [one for name in runs for one in rows_with(name, runs[name])]


def rows_with(storage, runs):
    if "damaris" not in runs:
        return []
    ours = runs["damaris"]
    rows = [against(runs[way], ours, *ROWS[way]) for way in ROWS if way in runs]
    copies = [over_memcpy(run) for run in ours]
    found = pooled_quantiles(copies, [[1.0]] * len(copies), 0.5)
    rows.append(row(MEMCPY_ROW[0], found, "lower", *MEMCPY_ROW[1:]))
    suffix = "" if storage == "cache" else f", storage {storage}"
    return [dict(one, name=one["name"] + suffix, storage=storage) for one in rows]


def against(theirs, ours, name, good, aim):
    found = pooled_quantiles([slowest(run) for run in theirs], [slowest(run) for run in ours], 0.5)
    cpu = np.median([processor_time(run) for run in theirs]) / np.median([processor_time(run) for run in ours])
    return dict(row(name, found, "higher", good, aim), cpu_ratio=round(float(cpu), 4))

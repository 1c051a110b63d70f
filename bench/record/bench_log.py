"""What a recording of many processes costs: a file for each, and through the server of the node, without and with a buffer.

Used by: bench_record.py --log. Before it: a build with MPI. After it: rows, and figures 12 to 14 of the paper on event tracing through I/O
forwarding, in small.
"""

import os
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from rows import quotient, row

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DAMARIS_BUILD_DIR", ROOT / "build/dev"))
WAYS = {"none": None, "a file each": [], "unbuffered": ["--server", "--files", "2", "--chunks", "1"],
        "buffered": ["--server", "--files", "2", "--chunks", "2"]}  # fmt: skip
PARTS = 20


def times_of(place):
    """Of each process, in ns: by word, its two times."""
    found = []
    for path in sorted(place.glob("times.*")):
        lines = [line.split() for line in path.read_text().splitlines()]
        found.append({word: (int(first), int(second)) for word, first, second in lines})
        path.unlink()
    return found


def flushes(started, run):
    """Seconds in flushes and their synchronisation, of each process."""
    import damaris

    started(["damaris", "unify", run], run.parent)  # in a process of its own, whose memory goes with it
    rows = damaris.open(run).query("""select p.id, coalesce(sum(c."end" - c."begin") filter (c.layer = 'recorder'), 0) / 1e9
        from processes p left join calls c on c.process = p.id where p.rank >= 0 group by all""").fetchall()
    return [seconds for _, seconds in rows]


def once(run, place, ranks, events, way):
    """The program's run time; the processes' times before main and behind it, and in flushes."""
    words = WAYS[way]
    made = [BUILD / "bench/damaris_bench_events", "make", place / "times", events, PARTS]
    recorded = made if words is None else ["damaris", "record", "--force", "-o", place / "run", *words, *made]
    launcher = [ROOT / "scripts/mpi-run", os.environ["DAMARIS_MPI_FLAVOUR"], "-n", ranks]
    run([*launcher, BUILD / "bench/damaris_bench_events", "run", place / "times", *recorded], place)
    times = times_of(place)
    return dict(
        seconds=(max(one["process"][1] for one in times) - min(one["process"][0] for one in times)) / 1e9,
        events=statistics.mean(one["events"][1] - one["events"][0] for one in times) / 1e9,
        around=statistics.mean(one["main"][0] - one["process"][0] + one["process"][1] - one["main"][1] for one in times) / 1e9,
        flushes=[0.0] * ranks if words is None else flushes(run, place / "run"),
        files=0 if words is None else len(list((place / "run/raw").iterdir())),
    )


def measure(run, place, counts, events, repeats, rounds):
    """rounds: interleaves; run: starts words in a folder."""
    found = defaultdict(list)
    for _, (ranks, way) in rounds([(ranks, way) for ranks in counts for way in WAYS], repeats):
        found[ranks, way].append(once(run, place, ranks, events, way))
    return found


def middle(found, ranks, way, of):
    return float(np.median([of(one) for one in found[ranks, way]]))


def trace_seconds(found, ranks, way):
    """Of a process: opening and the server's start, flushes, commit and close."""
    plain = middle(found, ranks, "none", lambda one: one["around"])
    return max(middle(found, ranks, way, lambda one: one["around"] + statistics.mean(one["flushes"])) - plain, 1e-6)


def rows_of(found, most):
    stopped = {way: [[sum(one["flushes"])] for one in found[most, way]] for way in WAYS}
    return [row(f"{most} processes into 2 files: stopped in flushes / a file each", quotient(stopped["buffered"], stopped["a file each"]), "lower", 1 / 3, 0.1),
            row(f"{most} processes into 2 files: run time / without a recorder",
                quotient([[one["seconds"]] for one in found[most, "buffered"]], [[one["seconds"]] for one in found[most, "none"]]), "lower", 1.15, 1.05)]  # fmt: skip


def table_of(found, counts, events):
    lines = []
    for ranks in counts:
        for way in WAYS:
            seconds = middle(found, ranks, way, lambda one: one["seconds"])
            if way == "none":
                lines.append([f"{ranks}", way, f"{seconds:.2f}", "", "", "", ""])
                continue
            spent = trace_seconds(found, ranks, way)
            stopped = middle(found, ranks, way, lambda one: sum(one["flushes"])) * 1e3 / ranks
            files = int(middle(found, ranks, way, lambda one: one["files"]))
            lines.append([f"{ranks}", way, f"{seconds:.2f}", f"{spent * 1e3:.1f}", f"{stopped:.2f}", f"{ranks * events / spent / 1e6:.1f}", f"{files}"])
    return dict(text=f"{events} events a process in {PARTS} parts; trace I/O: ms of a process for opening, flushes, commit and close.",
                heads=["ranks", "way", "run s", "trace ms", "flush ms", "M events/s", "files"], lines=lines)  # fmt: skip


def report(run, place, options, rounds):
    counts = [2, 4] if options.quick else [8, 16, 32, 64, 128]
    events, repeats = (40_000, 1) if options.quick else (options.calls // 3, options.repeats)
    if "damaris_bench_events" not in os.listdir(BUILD / "bench"):
        sys.exit("bench record --log: this build has no MPI")
    found = measure(run, place, counts, events, repeats, rounds)
    return dict(settings=dict(events=events, repeats=repeats), details={f"{ranks} {way}": runs for (ranks, way), runs in found.items()},
                rows=rows_of(found, counts[-2]), table=table_of(found, counts, events), notes=[])  # fmt: skip

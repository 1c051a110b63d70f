"""How long a simulation waits for its output: file per process, collective, one writer, ADIOS2, dedicated core.

The CM1 mini-app writes the same storm in all ways; README.md beside this file says what is timed. Rows are quotients of
the times of write phases; a phase lasts as long as its slowest process.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from program import add_places, check_places, in_rounds, positive, run_benchmark  # noqa: E402
from rows import pooled, quotient, row  # noqa: E402
from runs import run, with_outputs  # noqa: E402
from slow_storage import rate_of, storage  # noqa: E402

# A way of the mini-app is its back end; another one is a library that it loads.
WAYS = {"file-per-process": "fpp", "file-per-process-deflate": "ways_hdf5", "file-per-process-core": "ways_hdf5",
        "collective": "collective", "grouped": "ways_hdf5", "independent": "ways_hdf5", "one-writer": "ways_hdf5", "adios2": "ways_adios2",
        "adios2-async": "ways_adios2",
        "damaris": "damaris", "damaris-deflate": "damaris"}
BACK_ENDS = ("fpp", "collective", "damaris")
COPY = "copy"  # of the values, by the ranks that compute with damaris: what the rows of the slowest rank are compared with
ROWS = {"file-per-process": ("write phase seen by the simulation, median: file per process / damaris", 10, 30),
        "collective": ("write phase seen by the simulation, median: collective / damaris", 30, 100)}
MEMCPY_ROW = ("slowest rank of a write phase over its own memcpy", 10, 3)
BUSY = 0.9  # of the time between two phases: from there on the dedicated core hardly keeps up
EXAMPLES = """
examples:
  ./dev bench phases --ways file-per-process,damaris --ranks 2
  ./dev bench phases --storage cache,disk,100MB --ways collective,damaris
  ./dev bench phases --json phases.json --folder /scratch
  ./dev bench all --only phases        with a page of pictures
"""


def main():
    options = parse_arguments()
    return run_benchmark("phases", options, lambda console, folder: measure(console, folder / "place", options))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench phases", description=__doc__, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    add("--ways", type=ways, metavar="A,B", help=f"some of: {', '.join(WAYS)} (all that were built)")
    add("--ranks", type=positive, default=4, metavar="N", help="processes; damaris takes its dedicated cores from them (4)")
    add("--storage", type=storages, default=["cache"], metavar="A,B",
        help="cache: files end in the page cache (default); disk: a close syncs its file; RATE such as 100MB: all processes together "
             "write so many bytes per second, as with a node's share of a parallel file system; with several, each way runs with each")
    add("--outputs", type=positive, default=9, metavar="N", help="outputs of a run, after the first one (9)")
    add("--work", type=positive, default=4, metavar="N", help="multiplier of the compute work between two outputs (4)")
    add("--groups", type=positive, default=2, metavar="N", help="files of the way grouped (2)")
    add("--writers", type=positive, default=1, metavar="N", help="writers of one-writer; dedicated cores of damaris (1)")
    add("--repeats", type=positive, default=5, metavar="N", help="rounds, after one more that warms up (5)")
    add_places(parser, "one small round")
    options = parser.parse_args()
    check_places(parser, options)
    if options.ranks < options.groups or options.ranks < 2 * options.writers:
        parser.error(f"argument --ranks: {options.ranks} are too few for {options.groups} groups and {options.writers} writers, "
                     "each with a process of its own to serve")
    if options.quick:
        vars(options).update(outputs=2, repeats=1, work=1)
    return options


def ways(text):
    chosen = text.split(",")
    unknown = [way for way in chosen if way not in WAYS]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of: {', '.join(WAYS)}")
    return [way for way in WAYS if way in chosen]


def storages(text):
    """Names in the order given: a rate is called as it would be written, 100MB/s."""
    names = []
    for part in text.split(","):
        if part not in ("cache", "disk") and rate_of(part) is None:
            raise argparse.ArgumentTypeError(f"'{part}': cache, disk, or bytes per second such as 100MB")
        names.append(part if part in ("cache", "disk") else f"{rate_of(part) / 1e6:g}MB/s")
    return list(dict.fromkeys(names))


def library_of(way):
    return Path(os.environ["DAMARIS_BUILD_DIR"]) / "bench" / f"damaris_bench_{WAYS.get(way, 'ways_hdf5')}.so"


def measure(console, place, options):
    """Rounds of all ways with each storage, in an order drawn anew; the first round is not counted."""
    built = [way for way in WAYS if WAYS[way] in BACK_ENDS or library_of(way).exists()]
    left_out = [way for way in options.ways or WAYS if way not in built]
    chosen = [way for way in options.ways or WAYS if way in built]
    if not chosen or left_out and options.ways:
        raise ValueError(f"there is no way {left_out[0]}: its library was not found when this was built; run ./dev setup, then ./dev build")
    things = [(name, way) for name in options.storage for way in chosen]
    things += [(options.storage[0], COPY)] if "damaris" in chosen else []
    found = {thing: [] for thing in things}
    rounds = options.repeats + (0 if options.quick else 1)
    for number, (name, way) in in_rounds(console, "runs", things, rounds):
        one = one_run(place, name, way, options)
        if number >= rounds - options.repeats:
            found[name, way].append(one)
    details = [dict(way=way, storage=name, runs=runs) for (name, way), runs in found.items()]
    settings = {name: getattr(options, name) for name in ("ranks", "storage", "outputs", "work", "groups", "writers", "repeats")}
    return dict(settings=settings, left_out=left_out, details=details, rows=rows_of(details), table=table_of(settings, details),
                notes=[*busy(details), *([f"Not built, and left out: {', '.join(left_out)}."] if left_out else [])])


def one_run(place, name, way, options):
    dedicated = options.writers if way in ("damaris", "damaris-deflate") else 0
    ranks = options.ranks - (options.writers if way == COPY else 0)
    back_end = WAYS.get(way)
    namelist = with_outputs(options.outputs, work=options.work, backend=back_end if back_end in BACK_ENDS else "library")
    if namelist["backend"] == "library":
        namelist["config"] = str(library_of(way))
    rate = 0 if name in ("cache", "disk") else rate_of(name)
    try:
        with storage(place, rate, sync=name == "disk") as slow:
            groups = options.writers if way == "one-writer" else options.groups
            more = dict(slow.environment, DAMARIS_BENCH_WAY=way, DAMARIS_BENCH_GROUPS=str(groups))
            found = run(place / "run", ranks, namelist, options.quick, environment=more, servers=max(1, dedicated),
                        reduce="deflate" if way == "damaris-deflate" else "")
            slow.check(found["stored_bytes"], way, "use --storage cache or disk")
        return found
    finally:
        shutil.rmtree(place, ignore_errors=True)


def runs_of(details, name, way):
    return next(([run["writes_s"] for run in detail["runs"]] for detail in details if (detail["storage"], detail["way"]) == (name, way)),
                None)


def rows_of(details):
    rows, copies = [], next((runs_of(details, detail["storage"], COPY) for detail in details if detail["way"] == COPY), None)
    for name in dict.fromkeys(detail["storage"] for detail in details):
        ours = runs_of(details, name, "damaris")
        suffix = "" if name == "cache" else f", storage {name}"
        if ours:
            rows += [row(title + suffix, quotient(runs_of(details, name, way), ours), "higher", good, aim)
                     for way, (title, good, aim) in ROWS.items() if runs_of(details, name, way)]
            rows.append(row(MEMCPY_ROW[0] + suffix, quotient(ours, copies), "lower", *MEMCPY_ROW[1:]))
    return rows


def busy(details):
    for detail in details:
        server = np.median([run["server_s"] for run in detail["runs"]]) if detail["runs"][0]["server_s"] else 0
        interval = np.median([run["compute_s"] / len(run["writes_s"]) for run in detail["runs"]])
        if server > BUSY * interval:
            yield (f"{detail['way']}, storage {detail['storage']}: the dedicated core writes an output in {server:.2g} s, "
                   f"and the next one comes after {interval:.2g} s: the simulation may wait for room in the buffer. "
                   "Is the output more frequent than intended? Then raise --work.")


def table_of(settings, details):
    shared = f" sharing {len(os.sched_getaffinity(0))} cores" if settings["ranks"] > len(os.sched_getaffinity(0)) else ""
    text = (f"{settings['ranks']} ranks{shared}, {settings['outputs'] + 1} outputs, {settings['repeats']} runs; "
            "a write phase takes as long as its slowest process")
    heads = ["way", "storage", "ms, p50", "p95", "max", "run, s", "files", "MB"]
    return dict(text=text, heads=heads, lines=[line_of(detail) for detail in details])


def line_of(detail):
    runs = detail["runs"]
    writes = [run["writes_s"] for run in runs]
    return [detail["way"], detail["storage"], *[f"{1e3 * pooled(writes, q):.3g}" for q in (0.5, 0.95, 1)],
            f"{np.median([run['solution_s'] for run in runs]):.3g}", str(runs[0]["files"]), f"{runs[0]['stored_bytes'] / 1e6:.0f}"]


if __name__ == "__main__":
    sys.exit(main())

"""The CM1 mini-app with its dedicated core compressing and not, in pairs: does the simulation notice?

One computing rank and one dedicated core, each on a core of its own, go on from a storm of 40 minutes, whose
fields are as hard to compress as they get. A pair is one run with reduce="deflate" and one without, in an order
drawn anew. Rows are quotients, with compression by without.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from machine import describe_machine  # noqa: E402
from program import add_places, check_places, in_rounds, positive, run_benchmark  # noqa: E402
from quotients import ROW_HEADING, estimate, pooled_quantiles, quantile, row, row_line  # noqa: E402
from read_cm1 import timers  # noqa: E402
from run_cm1 import RunFailed, find_program, launch, prepare  # noqa: E402

RANKS = 2  # of which one is the dedicated core
LIMIT_S = 300
STORM = dict(nx=64, ny=64, nz=40, dx=1000.0, dy=1000.0, dz=500.0, dtl=6.0, timax=2400.0, tapfrq=2400.0, rstfrq=2400.0,
             statfrq=600.0, backend="damaris")
PAIR = dict(STORM, timax=3000.0, tapfrq=60.0, rstfrq=-1.0, irst=1, rstnum=0)
QUICK = dict(nx=24, ny=24, nz=20, zd=8000.0)
PHASES = {"step": "compute", "write phase": "write"}  # what the rows call the mini-app's phases
WORTH = {"median": (1.05, 1.01), "p99": (1.3, 1.1)}  # good, aim


@dataclass
class Way:
    """One of the two, and what its runs took in seconds."""

    name: str
    reduce: str
    solutions: list = field(default_factory=list)  # one a run
    phases: dict = field(default_factory=lambda: {label: [] for label in PHASES})  # a list a run
    stored: int = 0  # bytes of the last run's files
    memory: int = 0  # bytes that its server held beyond the region, at most


def main():
    options = parse_arguments()
    return run_benchmark("compression", options.folder, lambda console, folder: report_on(console, folder, options))


def report_on(console, folder, options):
    find_program()
    machine = describe_machine()
    ways = measure(console, folder, options)
    rows = rows_of(ways)
    report(console, ways, rows, machine)
    if options.json:
        write_json(options, machine, ways, rows)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench compression", description=__doc__, formatter_class=HelpText)
    parser.add_argument("--pairs", type=positive, default=30, metavar="N", help="how many (default: 30, about 12 minutes)")
    add_places(parser, "two pairs of a small storm", page=False)
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        options.pairs = 2
    return options


def measure(console, folder, options):
    small = QUICK if options.quick else {}
    with console.status("the storm that the pairs go on from"):
        run(folder / "storm", dict(STORM, **small))
    ways = [Way("off", ""), Way("on", "deflate")]
    warm_up = 0 if options.quick else 1
    random.seed(7)
    for pair, way in in_rounds(console, "pairs", ways, options.pairs + warm_up):
        one_run(way, folder, dict(PAIR, **small), keep=pair >= warm_up)
    return ways


def one_run(way, folder, settings, keep):
    place = folder / "run"
    seconds = run(place, settings, restart=folder / "storm" / "cm1out", reduce=way.reduce)
    if keep:
        way.solutions.append(seconds)
        for label, phase in PHASES.items():
            way.phases[label].append([s for _, _, kind, s in timers(place) if kind == phase])
        way.stored = sum(path.stat().st_size for path in place.glob("cm1out.*.h5"))
        way.memory = max(way.memory, *memory_of(place / "cm1out.jsonl"))
    shutil.rmtree(place)


def memory_of(record):
    return [step["memory_bytes"] for step in map(json.loads, record.read_text().splitlines()) if "memory_bytes" in step]


def run(folder, settings, **hdf5):
    """One run from its start to its last byte on disk; returns its time to solution in seconds."""
    done = launch(prepare(folder, settings, **hdf5), RANKS, limit_s=LIMIT_S, own_cores=True)
    seconds = [float(word.split("=")[1]) for word in done.output.split() if word.startswith("time_to_solution_s=")]
    if done.returncode != 0 or not seconds:
        raise RunFailed(f"the mini-app ended with {done.returncode}:\n{done.output[-2000:]}")
    return seconds[0]


def rows_of(ways):
    off, on = ways
    rows = [row_of("time to solution, median", estimate(quotients(on.solutions, off.solutions)), "median"),
            row_of("time to solution, p99", pooled_quantiles(as_lists(on.solutions), as_lists(off.solutions), 0.99), "p99")]
    for label in PHASES:
        for name, q in (("median", 0.5), ("p99", 0.99)):
            rows.append(row_of(f"{label}, {name}", pooled_quantiles(on.phases[label], off.phases[label], q), name))
    return rows


def as_lists(values):
    return [[value] for value in values]


def quotients(ours, base):
    return [a / b for a, b in zip(ours, base)]


def row_of(name, found, kind):
    return row(f"{name}, compression on / off", found, "lower", *WORTH[kind])


def report(console, ways, rows, machine):
    off, on = ways
    console.print(f"\n{len(off.solutions)} pairs; a run stored {off.stored / 1e6:.0f} MB without, {on.stored / 1e6:.0f} MB with deflate;\n"
                  f"its server held {off.memory / 1e6:.0f} MB without, {on.memory / 1e6:.0f} MB with it beyond its buffer\n")
    console.print(f"{'':28}{'off':>12}{'off p99':>12}{'on':>12}{'on p99':>12}", markup=False)
    for label, scale, unit in (("time to solution", 1, "s"), ("step", 1e3, "ms"), ("write phase", 1e3, "ms")):
        cells = [quantile(times(way, label), q) * scale for way in ways for q in (0.5, 0.99)]
        console.print(f"{label + ', ' + unit:28}" + "".join(f"{cell:12.2f}" for cell in cells), markup=False)
    console.print(f"\n{ROW_HEADING}", markup=False)
    for one in rows:
        console.print(row_line(one, one["name"].removesuffix(", compression on / off")), markup=False)
    for line in caveats(machine):
        console.print(line, markup=False)


def times(way, label):
    return way.solutions if label == "time to solution" else [second for one in way.phases[label] for second in one]


def caveats(machine):
    if machine["cores"] < RANKS:
        yield "\nCaution: the simulation and its dedicated core share one core here."
    if machine["load_1min_at_start"] > 0.5:
        yield f"\nload at the start: {machine['load_1min_at_start']:.1f}; others used this machine: look at the medians."


def write_json(options, machine, ways, rows):
    details = [dict(way=way.name, reduce=way.reduce, time_to_solution_s=way.solutions, stored_bytes=way.stored, memory_bytes=way.memory,
                    median_s={label: statistics.median(times(way, label)) for label in PHASES},
                    phases_s=way.phases) for way in ways]
    options.json.write_text(json.dumps(dict(machine=machine, quick=options.quick, rows=rows, details=details), indent=1) + os.linesep)


if __name__ == "__main__":
    sys.exit(main())

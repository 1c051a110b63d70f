"""The CM1 mini-app with and without compression on its dedicated core, in pairs: does the simulation notice?

One computing rank and one dedicated core, each on a core of its own, continue a storm of 40 minutes, whose fields are
the hardest to compress. A pair is one run with reduce="deflate" and one without, in a new random order. Rows are
quotients: with compression / without.
"""

import argparse
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from program import add_places, check_places, in_rounds, positive, run_benchmark  # noqa: E402
from rows import pooled, quotient, row  # noqa: E402
from runs import run  # noqa: E402

RANKS = 2  # of which one is the dedicated core
STORM = dict(timax=2400.0, tapfrq=2400.0, rstfrq=2400.0, statfrq=600.0, backend="damaris")
PAIR = dict(STORM, timax=3000.0, tapfrq=60.0, rstfrq=-1.0, irst=1, rstnum=0)
WAYS = {"off": "", "on": "deflate"}
TIMES = {"time to solution": ("solution_s", 1, "s"), "step": ("steps_s", 1e3, "ms"), "write phase": ("writes_s", 1e3, "ms")}
WORTH = {"median": (0.5, 1.05, 1.01), "p99": (0.99, 1.3, 1.1)}  # quantile, good, aim


def main():
    options = parse_arguments()
    return run_benchmark("compression", options, lambda console, folder: measure(console, folder, options))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench compression", description=__doc__, formatter_class=HelpText)
    parser.add_argument("--pairs", type=positive, default=30, metavar="N", help="number of pairs (default: 30, about 12 minutes)")
    add_places(parser, "two pairs of a small storm")
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        options.pairs = 2
    return options


def measure(console, folder, options):
    with console.status("the storm that the pairs continue"):
        run(folder / "storm", RANKS, STORM, options.quick)
    runs = {way: [] for way in WAYS}
    warm_up = 0 if options.quick else 1
    for pair, way in in_rounds(console, "pairs", list(WAYS), options.pairs + warm_up):
        found = run(folder / "run", RANKS, PAIR, options.quick, restart=folder / "storm" / "cm1out", reduce=WAYS[way])
        shutil.rmtree(folder / "run")
        if pair >= warm_up:
            runs[way].append(found)
    rows = [row(f"{label}, {name}, compression on / off", quotient(*(times(runs[way], label) for way in ("on", "off")), q), "lower", good, aim)
            for label in TIMES for name, (q, good, aim) in WORTH.items()]
    return dict(rows=rows, details=[dict(way=way, runs=runs[way]) for way in WAYS], table=table_of(runs), notes=[])


def times(runs, label):
    """A list for each run."""
    found = [run[TIMES[label][0]] for run in runs]
    return [one if isinstance(one, list) else [one] for one in found]


def table_of(runs):
    heads = ["deflate", *[f"{label}, {unit}" for label, (_, _, unit) in TIMES.items()], "stored, MB", "memory, MB"]
    lines = [[way, *[f"{scale * pooled(times(found, label)):.3g}" for label, (_, scale, _) in TIMES.items()],
              f"{found[-1]['stored_bytes'] / 1e6:.3g}", f"{max(one['memory_bytes'] for one in found) / 1e6:.3g}"]
             for way, found in runs.items()]
    return dict(text=f"{len(runs['on'])} pairs, medians; memory is that of the server beyond its buffer", heads=heads, lines=lines)


if __name__ == "__main__":
    sys.exit(main())

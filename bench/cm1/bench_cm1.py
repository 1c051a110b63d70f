"""Does a dedicated core pay? The CM1 mini-app at equal cores: all of them compute, or one is dedicated to the output.

The same storm with several multipliers of its compute work, so that the output is a larger or smaller part of it.
The grid is the same for all: with a dedicated core the others have larger tiles. Every process has a core of its own,
or an equal part of one if more are requested than exist.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from points import points_of, rows_of, table_of  # noqa: E402
from program import add_places, check_places, in_rounds, positive, run_benchmark  # noqa: E402
from runs import run, with_outputs  # noqa: E402
from slow_storage import rate_of, storage  # noqa: E402

AUTO = "auto"
WAYS = ["fpp", "collective", "damaris"]
LEAST_PART = 8  # of a core of this machine, for each rank
MOST_CORES = LEAST_PART * len(os.sched_getaffinity(0))
AUTO_SHARE = 2  # of the compute time, with the smallest multiplier
QUICK = dict(works=[1, 2], outputs=2, repeats=1)
EXAMPLES = """
examples:
  ./dev bench cm1 --cores 4        on 2 cores: half a core each, by a quota
                                   that needs root
  ./dev bench cm1 --storage as-is --folder /scratch
  ./dev bench cm1 --works 1,4 --repeats 5 --json cm1.json
  ./dev bench all --only cm1       with a page of pictures
"""


def main():
    options = parse_arguments()
    return run_benchmark("cm1", options, lambda console, folder: measure(console, folder / "place", options))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench cm1", description=__doc__, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    add("--cores", type=cores_of, default=len(os.sched_getaffinity(0)), metavar="N", help="cores of a run, 2 or more (those of this machine)")
    add("--works", type=numbers, default=[1, 2, 6], metavar="A,B", help="multipliers of the compute work (1,2,6)")
    add("--outputs", type=positive, default=6, metavar="N", help="outputs of a run, after the first one (6)")
    add("--storage", type=rate, default=AUTO, metavar="RATE",
        help="bytes per second that all processes together may write, such as 20MB/s; or as-is: then a local file system takes the output "
             "into memory, and there is nothing to hide (default: so slow that, with the smallest multiplier, the output takes twice "
             "the compute time)")
    add("--repeats", type=positive, default=3, metavar="N", help="rounds, after one more that warms up (3)")
    add_places(parser, "one round of a small storm")
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        vars(options).update(QUICK)
    return options


def cores_of(text):
    if positive(text) > MOST_CORES:
        raise argparse.ArgumentTypeError(f"at most {MOST_CORES} here: none gets less than 1/{LEAST_PART} of a core")
    if positive(text) < 2:
        raise argparse.ArgumentTypeError("one core cannot be divided into one that computes and one that is dedicated; give 2 or more")
    return int(text)


def numbers(text):
    return sorted({positive(part) for part in text.split(",")})


def rate(text):
    found = text if text == AUTO else 0 if text == "as-is" else rate_of(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}': bytes per second, such as 20MB/s, or as-is")
    return found


def measure(console, place, options):
    """Rounds of all works and ways, in an order drawn anew; the first round is not counted."""
    part = min(1, len(os.sched_getaffinity(0)) / options.cores)
    settings = dict(cores=options.cores, part_of_a_core=part, outputs=options.outputs, repeats=options.repeats, quick=options.quick)
    settings["storage_bytes_per_s"] = slow_enough(place, settings, options.works[0]) if options.storage == AUTO else options.storage
    details = {work: dict(work=work, alone={str(dedicated): [] for dedicated in range(min(3, options.cores))},
                          runs={way: [] for way in WAYS}) for work in options.works}
    turns = [(work, kind) for work in options.works for kind in [*details[work]["alone"], *WAYS]]
    rounds = options.repeats + (0 if options.quick else 1)
    for number, (work, kind) in in_rounds(console, "runs", turns, rounds):
        found = one(place, settings, work, kind)
        if number >= rounds - options.repeats:
            details[work]["alone" if kind.isdecimal() else "runs"][kind].append(found)
    points = points_of(settings, details.values())
    rows, notes = rows_of(settings, points, details.values())
    return dict(settings=settings, details=list(details.values()), points=points, rows=rows, table=table_of(settings, points), notes=notes)


def slow_enough(place, settings, work):
    """Bytes per second, of two digits."""
    fast = dict(settings, storage_bytes_per_s=0)
    return float(f"{one(place, fast, work, 'fpp')['stored_bytes'] / (AUTO_SHARE * one(place, fast, work, '0')):.1e}")


def one(place, settings, work, kind):
    """A run of a way on all cores; or the time of one without output, so many cores left out."""
    ranks, backend = (settings["cores"] - int(kind), "none") if kind.isdecimal() else (settings["cores"], kind)
    namelist = with_outputs(settings["outputs"], work=work, backend=backend)
    try:
        with storage(place, settings["storage_bytes_per_s"]) as slow:
            found = run(place / "run", ranks, namelist, settings["quick"], settings["part_of_a_core"], slow.environment)
            slow.check(found["stored_bytes"], backend, "use --storage as-is")
        return found["solution_s"] if kind.isdecimal() else found
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

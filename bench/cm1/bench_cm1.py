"""Does a dedicated core pay? The CM1 mini-app at equal cores: all of them compute, or one is dedicated to the output.

The same storm with several multipliers of its compute work, so that the output is a larger or smaller part of it.
The grid is the same for all: with a dedicated core the others have larger tiles. Every process has a core of its own,
or an equal part of one where more are asked for than there are.
"""

import argparse
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/page", "examples/cm1")]

import equal_cores  # noqa: E402
from cores_summary import points_of, rows_of  # noqa: E402
from cores_table import print_report  # noqa: E402
from help_text import HelpText  # noqa: E402
from machine import describe_machine  # noqa: E402
from program import add_places, check_places, in_rounds, positive, run_benchmark  # noqa: E402
from run_cm1 import find_program  # noqa: E402
from slow_storage import rate_of  # noqa: E402

AUTO = "auto"
LEAST_PART = 8  # of a core of this machine, for each rank
MOST_CORES = LEAST_PART * len(os.sched_getaffinity(0))
AUTO_SHARE = 2  # of the compute time, with the smallest multiplier
QUICK = dict(works=[1, 2], outputs=2, repeats=1)
EXAMPLES = """
examples:
  ./dev bench cm1 --page cm1.html                5 to 15 minutes on 2 cores
  ./dev bench cm1 --cores 4 --page cm1-4.html    on 2 cores: half a one each,
                                                 by a quota that root may set
  ./dev bench cm1 --storage as-is --folder /scratch
  ./dev bench cm1 --works 1,4 --repeats 5 --json cm1.json
"""


def main():
    options = parse_arguments()
    return run_benchmark("cm1", options.folder, lambda console, folder: report_on(console, folder, options))


def report_on(console, folder, options):
    find_program()
    settings = settings_of(folder / "place", options)
    report = dict(machine=describe_machine(), quick=options.quick, settings=dict(cores=settings.cores, part_of_a_core=settings.part, outputs=settings.outputs,
                                                            repeats=options.repeats, storage_bytes_per_s=settings.rate))
    report["details"] = measure(console, folder, options, settings)
    report["points"] = points_of(report)
    report["rows"] = rows_of(report)
    write_results(options, report)
    print_report(console, report)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench cm1", description=__doc__, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    cores = len(os.sched_getaffinity(0))
    add("--cores", type=cores_of, default=cores, metavar="N", help="of a run, 2 or more (those of this machine)")
    add("--works", type=numbers, default=[1, 2, 6], metavar="A,B", help="multipliers of the compute work (1,2,6)")
    add("--outputs", type=positive, default=6, metavar="N", help="of a run, after the first one (6)")
    add("--storage", type=rate, default=AUTO, metavar="RATE",
        help="bytes per second that all processes together may write, such as 20MB/s, or as-is: a local file system takes the output "
             "into memory, and there is nothing to hide (so slow that with the smallest multiplier the output takes twice the "
             "compute time)")
    add("--repeats", type=positive, default=3, metavar="N", help="rounds; another one warms up (3)")
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
    if text == AUTO:
        return AUTO
    found = 0 if text == "as-is" else rate_of(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}': bytes per second, such as 20MB/s, or as-is")
    return found


def settings_of(place, options):
    part = min(1, len(os.sched_getaffinity(0)) / options.cores)
    settings = equal_cores.Settings(options.cores, options.outputs, 0, options.quick, part)
    return replace(settings, rate=slow_enough(place, settings, options.works[0]) if options.storage == AUTO else options.storage)


def slow_enough(place, settings, work):
    """Bytes per second, of two digits."""
    compute_s = one(place, settings, work, "0")
    rate = one(place, settings, work, "fpp")["stored_bytes"] / (AUTO_SHARE * compute_s)
    return float(f"{rate:.1e}")


def measure(console, folder, options, settings):
    """Rounds of all works and ways, in an order drawn anew; the first round is not counted."""
    details = {work: dict(work=work, alone={str(dedicated): [] for dedicated in range(min(3, options.cores))},
                          runs={way: [] for way in equal_cores.WAYS}) for work in options.works}
    turns = [(work, kind) for work in options.works for kind in [*details[work]["alone"], *equal_cores.WAYS]]
    rounds = options.repeats + (0 if options.quick else 1)
    for number, (work, kind) in in_rounds(console, "runs", turns, rounds):
        found = one(folder / "place", settings, work, kind)
        if number >= rounds - options.repeats:
            kept = details[work]["alone" if kind.isdecimal() else "runs"]
            kept[kind].append(found)
    return list(details.values())


def one(place, settings, work, kind):
    try:
        if kind.isdecimal():
            return equal_cores.without_output(place, settings, work, int(kind))
        return equal_cores.run(place, settings, work, kind)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def write_results(options, report):
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + os.linesep)
    if options.page:
        from cores_pictures import draw_page  # matplotlib takes a second
        draw_page(report, options.page)


if __name__ == "__main__":
    sys.exit(main())

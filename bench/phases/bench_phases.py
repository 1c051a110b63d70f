"""How long a simulation waits for its output: file per process, collective, grouped, independent, one writer, dedicated core.

All ways write the same values; README.md beside this file says what is timed. Rows are quotients of the time of a
write phase, which is that of its slowest process.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from machine import describe_machine  # noqa: E402
from run_cm1 import RunFailed  # noqa: E402
from run_phases import Settings, find_program, run  # noqa: E402
from summary import idle_share, mark, processor_time, rows_of, slowest, throughput  # noqa: E402

WAYS = ["file-per-process", "file-per-process-deflate", "file-per-process-core", "collective", "grouped", "independent", "one-writer",
        "damaris"]
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
QUICK = dict(bytes=256 << 10, phases=2, compute=0.02)
SWEEP_WAYS = ["file-per-process", "damaris"]
SWEEP = [1 / 16, 1 / 4, 1 / 2, 1, 2]  # times --bytes
SWEEP_ROUNDS = 2
EXAMPLES = """
examples:
  ./dev bench phases --page phases.html
  ./dev bench phases --sweep --json phases.json --page phases.html --folder /scratch
  ./dev bench phases --ways file-per-process,damaris --ranks 2 --bytes 64MiB   a core for each
  ./dev bench phases --ways collective --transfer 1MiB --stripe 4MiB
  ./dev bench phases --fields fields.h5 --repeats 10
"""


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like an interrupt: the runs go too
    options = parse_arguments()
    settings = settings_of(options)
    console = Console(width=min(80, Console().width), highlight=False)
    folder = Path(tempfile.mkdtemp(prefix="damaris-bench.phases.", dir=options.folder))
    try:
        find_program()
        report = dict(machine=describe_machine(), settings=vars(settings))
        report["details"] = details = measure(console, folder, options, settings)
        if options.sweep:
            report["sweep"] = sweep(console, folder, options, settings)
        report["rows"] = rows_of(details)
        print_report(console, report)
        write_results(options, report)
    except (RunFailed, OSError, ValueError) as failure:
        print(f"bench phases: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench phases: interrupted; nothing is left running", file=sys.stderr)
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench phases", description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ways", type=ways, default=WAYS, metavar="A,B", help=f"which of: {', '.join(WAYS)}")
    add("--ranks", type=positive, default=4, metavar="N", help="processes; damaris takes its dedicated cores from them (4)")
    add("--bytes", type=size, default=24 << 20, metavar="SIZE", help="of each process and phase (24MiB)")
    add("--phases", type=positive, default=10, metavar="N", help="of a run (10)")
    add("--compute", type=seconds, default=0.5, metavar="S", help="processor time of a process and phase (0.5)")
    add("--transfer", type=size, default=0, metavar="SIZE", help="a write call of the file ways (a whole field)")
    add("--chunk", type=size, default=1 << 20, metavar="SIZE", help="chunk of file-per-process-deflate (1MiB)")
    add("--stripe", type=size, default=0, metavar="SIZE", help="hint striping_unit of MPI-IO (none)")
    add("--groups", type=positive, default=2, metavar="N", help="files of grouped (2)")
    add("--writers", type=positive, default=1, metavar="N", help="of one-writer; dedicated cores of damaris (1)")
    add("--repeats", type=positive, default=5, metavar="N", help="rounds; another one warms up (5, about 15 minutes)")
    add("--fields", type=Path, metavar="FILE", help="HDF5 with groups of 3D float32 datasets, the values to write")
    add("--sweep", action="store_true", help="also file-per-process and damaris with other sizes")
    add("--json", type=Path, metavar="FILE", help="write machine, rows and all times")
    add("--page", type=Path, metavar="FILE", help="write an HTML page with pictures")
    add("--folder", type=Path, metavar="DIR", help="where the runs write (the folder for temporary files)")
    add("--quick", action="store_true", help="one small round: does it run; the figures mean little")
    options = parser.parse_args()
    check(parser, options)
    if options.quick:
        vars(options).update(QUICK, repeats=1)
    return options


def check(parser, options):
    if options.folder and not options.folder.is_dir():
        parser.error(f"argument --folder: there is no folder {options.folder}")
    if options.fields and not options.fields.is_file():
        parser.error(f"argument --fields: there is no file {options.fields}")
    if options.ranks < options.groups or options.ranks < 2 * options.writers:
        parser.error(f"argument --ranks: {options.ranks} are too few for {options.groups} groups and {options.writers} writers, "
                     "each with a process of its own to serve")


def ways(text):
    chosen = text.split(",")
    unknown = [way for way in chosen if way not in WAYS]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of: {', '.join(WAYS)}")
    return [way for way in WAYS if way in chosen]


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}': a whole number, 1 or more")
    return int(text)


def seconds(text):
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise argparse.ArgumentTypeError(f"'{text}': a number of seconds, such as 0.5")
    return float(text)


def size(text):
    found = re.fullmatch(r"(\d+)\s*([kmg]i?)?b?", text.lower())
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}': a number of bytes, or one with a unit, such as 24MiB")
    return int(found[1]) * UNITS[found[2] or ""]


def settings_of(options):
    names = Settings.__dataclass_fields__
    return replace(Settings(**{name: getattr(options, name) for name in names}),
                   fields=str(options.fields.resolve()) if options.fields else None)


def measure(console, folder, options, settings):
    """Rounds of all ways, in an order drawn anew; the first round is not counted."""
    found = {way: dict(way=way, runs=[]) for way in options.ways}
    rounds = options.repeats + (0 if options.quick else 1)
    for number, way in in_rounds(console, "runs", options.ways, rounds):
        times, left, cpu = run(way, settings, folder / "run")
        if number >= rounds - options.repeats:
            found[way]["runs"].append(times)
            found[way].update(left)
            found[way].setdefault("cpu", cpu)
    return list(found.values())


def sweep(console, folder, options, settings):
    factors = [SWEEP[0], SWEEP[-1]] if options.quick else SWEEP
    points = [(max(1, int(settings.bytes * factor)), way) for factor in factors for way in SWEEP_WAYS]
    found = {point: [] for point in points}
    for _, point in in_rounds(console, "sizes", points, 1 if options.quick else SWEEP_ROUNDS):
        found[point].append(run(point[1], replace(settings, bytes=point[0]), folder / "run")[0])
    return [dict(bytes_per_process=point[0], way=point[1], runs=runs) for point, runs in found.items()]


def in_rounds(console, label, things, rounds):
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(label, total=rounds * len(things))
        for number in range(rounds):
            for thing in random.sample(things, len(things)):
                yield number, thing
                progress.advance(task)


def print_report(console, report):
    settings, details = report["settings"], report["details"]
    console.print(f"\n{settings['ranks']} ranks, {settings['bytes'] / 2**20:.3g} MiB each, {settings['phases']} phases, {len(details[0]['runs'])} runs; "
                  "a write phase\ntakes as long as its slowest process\n", markup=False)
    console.print(f"{'':25}{'median':>8}{'p95':>8}{'max':>8}{'apparent':>9}{'waiting':>8}{'files':>6}{'stored':>8}")
    console.print(f"{'':25}{'ms':>8}{'ms':>8}{'ms':>8}{'GB/s':>9}{'%':>8}{'':>6}{'MB':>8}")
    for detail in details:
        console.print(line_of(detail), markup=False)
    console.print(f"\n{'(+ good is reached, * the aim)':42} {'ratio':>6} {'95 % interval':>16} {'good':>4} {'aim':>4}", markup=False)
    for one in report["rows"]:
        interval = "[{:.3g}, {:.3g}]".format(*one["interval"])
        name = one["name"].removeprefix("write phase seen by the simulation, ")[:42]
        console.print(f"{name:42} {one['ratio']:6.3g} {interval:>16} {one['good']:4.3g} {one['aim']:4.3g} {mark(one)}", markup=False)
    for line in caveats(report):
        console.print(line, markup=False)


def line_of(detail):
    runs = detail["runs"]
    times = np.concatenate([slowest(run) for run in runs]) * 1e3
    rate = np.median(np.concatenate([throughput(run) for run in runs])) / 1e9
    idle = np.median([idle_share(phase) for run in runs for phase in run["visible_s"]]) * 100
    return (f"{detail['way']:25}{np.median(times):8.1f}{np.quantile(times, 0.95):8.1f}{times.max():8.1f}{rate:9.2f}{idle:8.0f}"
            f"{detail['files']:6}{detail['stored_bytes'] / 1e6:8.0f}")


def caveats(report):
    machine, ranks = report["machine"], report["settings"]["ranks"]
    if machine["cores"] < ranks:
        yield f"\n{ranks} ranks share {machine['cores']} cores here."
    if machine["load_1min_at_start"] > 0.5:
        yield f"load at the start: {machine['load_1min_at_start']:.1f}; others used this machine: look at the medians."


def write_results(options, report):
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + os.linesep)
    if options.page:
        from pictures import draw_page  # matplotlib takes a second
        draw_page(report, options.page)


if __name__ == "__main__":
    sys.exit(main())

"""What the benchmarks in Python have in common: how they run and end, their rounds, the options that all take, and what they print.

Used by: bench_cm1.py, bench_compression.py, bench_phases.py. Before it: a command line. After it: an exit status; nothing is left behind.
"""

import argparse
import json
import os
import platform
import random
import re
import shutil
import signal
import sys
import tempfile
import textwrap
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from rows import ROW_HEADING, row_line
from run_cm1 import RunFailed, find_program

# What the name of a row does without in a terminal of 80 columns, until it fits.
SHORTER = ((", storage ", " @"), ("write phase seen by the simulation, ", ""), (" of a write phase", ""), (", compression on / off", ""),
           ("time to solution, ", ""), ("the break-even", "break-even"), (" parts of cores", " parts"), ("way / damaris", "/ damaris"))


def run_benchmark(name, options, measure):
    """measure(console, folder) makes a report, in a folder that goes afterwards; it is printed and stored. Returns the exit status."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) != signal.SIG_IGN:  # by nohup
            signal.signal(ending, signal.default_int_handler)  # ends like an interrupt: the runs go too
    os.environ["DAMARIS_JOB"] = f"bench-{os.getpid()}"  # beside other runs, and beside other benchmarks
    console = Console(width=min(80, Console().width), highlight=False)
    folder = None
    try:
        find_program()
        folder = made_folder(name, options.folder)
        report = dict(machine=describe_machine(), quick=options.quick, **measure(console, folder))
        if options.json:
            options.json.write_text(json.dumps(report, indent=1) + os.linesep)
        print_report(report)
    except (RunFailed, OSError, ValueError) as failure:
        print(f"bench {name}: {failure}", file=sys.stderr)
        return getattr(failure, "status", 1)
    except KeyboardInterrupt:
        print(f"bench {name}: interrupted; nothing is left running", file=sys.stderr)
        return 130
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
            for region in Path("/dev/shm").glob(f"damaris.{os.geteuid()}.bench-{os.getpid()}.*"):  # of a killed server
                region.unlink(missing_ok=True)
    return 0


def made_folder(name, parent):
    try:
        return Path(tempfile.mkdtemp(prefix=f"damaris-bench.{name}.", dir=parent))
    except OSError as failure:
        raise RunFailed(f"cannot create a folder in {parent or tempfile.gettempdir()}: {failure.strerror}; "
                        "use --folder with a folder that you can write to") from failure


def in_rounds(console, label, things, rounds):
    """(round, thing) for all things in each round, in an order drawn anew."""
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(label, total=rounds * len(things))
        for number in range(rounds):
            for thing in random.sample(things, len(things)):
                yield number, thing
                progress.advance(task)


def print_report(report):
    table = report["table"]
    print(f"\n{textwrap.fill(table['text'], 80)}\n")
    lines = [table["heads"], *table["lines"]]
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join([f"{line[0]:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:]))]))
    print(f"\n{ROW_HEADING}")
    for one in report["rows"]:
        name = one["name"]
        for long, less in SHORTER:
            name = name.replace(long, less) if len(name) > 45 else name
        print(row_line(one, name))
    for note in report["notes"]:
        print(f"\n{textwrap.fill(note, 80)}")
    if report["machine"]["load_1min_at_start"] > 0.5:
        print(f"\nload at the start: {report['machine']['load_1min_at_start']:.1f}; others used this machine, so look at the medians.")


def describe_machine():
    """Under the names that damaris-bench uses."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    text = (Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text()
    return dict(processor=found[1] if found else "unknown", cores=len(os.sched_getaffinity(0)),
                memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), system=f"{platform.system()} {platform.release()}",
                load_1min_at_start=os.getloadavg()[0], damaris=re.search(r"project\(\w+\s+VERSION ([\d.]+)", text, re.IGNORECASE)[1])


def add_places(parser, quick):
    """--json, --folder and --quick, whose help is `quick`."""
    add = parser.add_argument
    add("--json", type=Path, metavar="FILE", help="write machine, rows and all times to this file")
    add("--folder", type=Path, metavar="DIR", help="where the runs write (the system's temporary folder)")
    add("--quick", action="store_true", help=f"{quick}: only checks that everything runs; the figures mean little")


def check_places(parser, options):
    """Now, not after all runs."""
    if options.folder and not options.folder.is_dir():
        parser.error(f"argument --folder: there is no folder {options.folder}")
    if options.json and not options.json.parent.is_dir():
        parser.error(f"argument --json: there is no folder {options.json.parent}")


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}': a whole number, 1 or more")
    return int(text)

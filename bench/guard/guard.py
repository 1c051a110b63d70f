"""Is anything slower than it was? Compares instructions of the hot path, and ratios of the quick benchmarks, with a stored baseline.

README.md beside this file says what is compared and how.
"""

import argparse
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import Progress

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent / "page"))

from baseline import Baseline, changes, read_baseline, updated, write_baseline  # noqa: E402
from counts import KINDS, count, why_not  # noqa: E402
from failure import Failure  # noqa: E402
from help_text import HelpText  # noqa: E402
from ratios import BENCHMARKS, measure  # noqa: E402
from table import print_changes, print_verdicts  # noqa: E402
from toolchain import describe_toolchain, differences  # noqa: E402
from verdict import FAILED, Measured, best, gone, judge  # noqa: E402

COUNTS = "counts"
GROUPS_OF = {"reduce": ("reduce", "sizes")}  # of the others: their own name
TRIES = 6  # of a benchmark of which a row is worse
RUNS = 3  # of each benchmark, for --update
SKIPPED = 77


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like an interrupt: the server goes too
    options = parse_arguments()
    os.environ.setdefault("DAMARIS_BUILD_DIR", str(HERE.parents[1] / "build" / "dev"))
    os.environ["DAMARIS_JOB"] = f"bench-{os.getpid()}"  # beside other runs, and beside other benchmarks
    if why_not():
        print(f"SKIP: {why_not()}")
        return SKIPPED
    console = Console(width=min(80, Console().width))
    try:
        return update(console, options) if options.update else compare(console, options)
    except (Failure, OSError) as failure:
        print(f"bench --quick: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench --quick: interrupted; nothing is left running", file=sys.stderr)
        return 130


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__, formatter_class=HelpText)
    add = parser.add_argument
    add("--quick", action="store_true", required=True, help="run this comparison; other benchmarks have names: ./dev --help")
    add("--counts", action="store_true", help="only the instructions: takes seconds, and gives the same result on a machine that others use")
    add("--update", action="store_true", help="rewrite the baseline and print what has changed; the commit message must say why")
    add("--json", type=Path, metavar="FILE", help="write the toolchain and all rows to this file")
    add("--baseline", type=Path, default=HERE / "baseline.json", metavar="FILE", help="another baseline than that of the sources")
    options = parser.parse_args()
    for name in ("json", "baseline"):  # now, not after all runs
        path = getattr(options, name)
        if path and not path.parent.is_dir():
            parser.error(f"argument --{name}: there is no folder {path.parent}")
    return options


def compare(console, options):
    stored, toolchain = read_baseline(options.baseline), describe_toolchain()
    differing = differences(stored.toolchain, toolchain)
    verdicts = [verdict for part in in_turn(console, options) for verdict in judge_part(part, stored, not differing)]
    if options.json:
        report = dict(toolchain=toolchain, same_toolchain=not differing, rows=[vars(verdict) for verdict in verdicts])
        options.json.write_text(json.dumps(report, indent=1) + os.linesep)
    print_verdicts(verdicts, differing)
    return 1 if any(verdict.state in FAILED for verdict in verdicts) else 0


def update(console, options):
    old = stored_or_first(options.baseline)
    runs = [[measure_part(part) for _ in range(1 if part == COUNTS else RUNS)] for part in in_turn(console, options)]
    new = updated(old, describe_toolchain(), [row for part in runs for row in medians(part)])
    write_baseline(options.baseline, new)
    print_changes(options.baseline, list(changes(old, new)), differences(old.toolchain, new.toolchain) if old.toolchain else [])
    return 0


def stored_or_first(path):
    """What cannot be read is what an update mends: then it begins with no rows and the usual margins."""
    try:
        return read_baseline(path)
    except Failure as failure:
        print(f"bench --quick: starts a new baseline, because {failure}", file=sys.stderr)
        return Baseline()


def in_turn(console, options):
    parts = [COUNTS] if options.counts else [COUNTS, *BENCHMARKS]
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("guard", total=len(parts))
        for part in parts:
            progress.update(task, description=part)
            yield part
            progress.advance(task)


def measure_part(part):
    if part == COUNTS:
        return [Measured(COUNTS, name, count(kind)) for name, kind in KINDS.items()]
    return measure(part)


def judge_part(part, stored, same_toolchain, measure_again=measure_part):
    """A benchmark runs again while a row of it is worse: it may have been the machine. A count is the same each time."""
    rows = measure_again(part)
    verdicts = judge_all(part, rows, stored, same_toolchain)
    for _ in range(TRIES - 1):
        if part == COUNTS or not any(verdict.state == "WORSE" for verdict in verdicts):
            break
        rows = best(rows, measure_again(part))
        verdicts = judge_all(part, rows, stored, same_toolchain)
    return verdicts


def judge_all(part, rows, stored, same_toolchain):
    found = {row.name for row in rows}
    lost = [gone(group, name, value) for group in GROUPS_OF.get(part, [part]) for name, value in stored.rows[group].items() if name not in found]
    return [judge(row, stored.rows[row.group].get(row.name), stored.margin(row.group, same_toolchain)) for row in rows] + lost


def medians(runs):
    """Row by row, of several runs of one benchmark."""
    return [replace(row, now=median(run[number].now for run in runs)) for number, row in enumerate(runs[0])]


if __name__ == "__main__":
    sys.exit(main())

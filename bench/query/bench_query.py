"""How long questions to a recording take: each question of the paper over everything and over ranges, and the page of damaris report.

The recording is generated as in bench record: writes inside MPI-IO calls. Times are of a warm page cache, the median of several.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402
from program import add_places, check_places, positive, run_benchmark  # noqa: E402
from rows import row  # noqa: E402

import other_tool  # noqa: E402

EVERYTHING = ("Latency Breakdown Inclusive", "Latency Breakdown Exclusive", "Latency Operation Avg", "Latency Operation Max", "Latency Operation Min", "Throughput",
              "Energy [10] [5]", "Call", "Communication", "Targets", "Accesses", "Latency Segment [0-1]")  # fmt: skip
RANGES = ("Latency Breakdown Inclusive [0-3] [1-10]", "Latency Breakdown Exclusive [0-3] [1-10]", "Latency Operation List [0-3] [1-10]",
          "Latency Operation Max [0-3] [1-10]", "Throughput [0-3] [1-10]", "Energy [10] [5] [0-3] [1-10]", "Call [0-3] [1-10]", "Targets [0-3] [1-10]")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="./dev bench query", description=__doc__, formatter_class=HelpText)
    parser.add_argument("--slots", type=positive, default=10_000_000, metavar="N", help="calls in the recording (10000000)")
    parser.add_argument("--repeats", type=positive, default=5, metavar="N", help="times that each question is asked (5)")
    add_places(parser, "a recording of few calls")
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        vars(options).update(slots=100_000, repeats=2)
    return run_benchmark("query", options, lambda console, folder: measure(folder, options))


def asked(run, question, repeats):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run.ask(question).fetchall()
        times.append(time.perf_counter() - begin)
    return statistics.median(times), min(times), max(times)


def reported(run):
    """Seconds and bytes of memory of the page, made by a process of its own."""
    begin = time.perf_counter()
    made = subprocess.Popen([sys.executable, "-m", "damaris.verbs", "report", run, "-o", run / "page.html"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(made.pid, 0)
    if status:
        raise RuntimeError(f"damaris report ended with {status}")
    return time.perf_counter() - begin, used.ru_maxrss * 1024


def recording(folder, slots):
    unify = ROOT / "bench/record/bench_unify.py"
    subprocess.run([sys.executable, unify, "--slots", str(slots), "--run", folder], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, TMPDIR=str(folder.parent)))  # fmt: skip
    return folder


def measure(folder, options):
    import damaris

    tenth = damaris.open(recording(folder / "tenth", options.slots // 10))
    run = damaris.open(recording(folder / "run", options.slots))
    found = {question: asked(run, question, options.repeats) for question in (*EVERYTHING, *RANGES)}
    slowest = {name: max((found[question] for question in questions)) for name, questions in (("all", EVERYTHING), ("ranges", RANGES))}
    growth = [found[question][0] / asked(tenth, question, options.repeats)[0] for question in EVERYTHING]
    small, large = (sorted(reported(folder / name) for _ in range(min(options.repeats, 3))) for name in ("tenth", "run"))
    rows = [row("slowest question over everything, s", slowest["all"], "lower", 1, 0.3),
            row("slowest question with ranges, s", slowest["ranges"], "lower", 0.1, 0.03),
            row("page of the report, s", spread(one[0] for one in large), "lower", 20, 10),
            row("page of the report, GiB", spread(one[1] / 2**30 for one in large), "lower", 2, 1),
            row("questions, of ten times the calls, x", spread(growth), "lower", 12, 10),
            row("page, of ten times the calls, x", spread(one[0] / small[0][0] for one in large), "lower", 12, 10)]  # fmt: skip
    text, compared = f"{options.slots:,} calls; seconds, medians of {options.repeats}.", []
    why_not = other_tool.why_not()
    if not why_not:
        writes = options.slots // 10
        first, both, compared = other_tool.compare(folder / "other", writes, options.repeats)
        rows += [row("first answer from the raw trace, dftracer-utils' time by ours, x", spread(first), "higher", 1, 3),
                 row("all answers that both give, the same, x", spread(both), "higher", 1, 3)]  # fmt: skip
        text += f" Where there are two: processes that ask a recording of {writes:,} writes, the first from the raw trace."
    table = dict(text=text, heads=["question", "damaris", "dftracer-utils"],
                 lines=[*([question, f"{times[0]:.3f}", ""] for question, times in found.items()), *compared])  # fmt: skip
    return dict(settings=dict(slots=options.slots, repeats=options.repeats), details=found, rows=rows, table=table,
                notes=[f"not compared with dftracer-utils: {why_not}"] if why_not else [])  # fmt: skip


def spread(values):
    """Median, least and greatest."""
    values = sorted(values)
    return [statistics.median(values), values[0], values[-1]]


if __name__ == "__main__":
    sys.exit(main())

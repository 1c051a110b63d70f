"""Measures everything that docs/performance.md promises, with one command, and draws a page of pictures.

Runs the benchmarks one after the other, each as a process of its own. Parts that the folder of results already has are not measured
again, so an interrupted campaign can continue; page.html and figures.md are made from results.json alone.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1")]

from help_text import HelpText  # noqa: E402

# Of each part: the words after ./dev bench, about how many seconds it takes on 2 cores. The whole stays below 45 minutes.
PARTS = {
    "write": (["write"], 90), "queue": (["queue"], 20), "persist": (["persist"], 60), "reduce": (["reduce"], 90), "slots": (["slots"], 170),
    "never-stops": (["never-stops"], 180), "log": (["log"], 60),
    "phases": (["phases", "--ranks", "2", "--groups", "1", "--ways", "file-per-process,collective,adios2,adios2-async,damaris",
                "--storage", "cache,disk,100MB", "--repeats", "3"], 400),
    "phases-shared": (["phases", "--repeats", "2"], 300),
    "cm1": (["cm1", "--works", "1,2,6", "--repeats", "2"], 300),
    "cm1-parts": (["cm1", "--cores", "4", "--works", "1,2,6", "--repeats", "2"], 300),
    "compression": (["compression", "--pairs", "15"], 330),
    "record": (["record"], 150), "replay": (["replay"], 330), "view": (["view", "--calls", "10000000"], 150),
}
SCRIPTS = {"phases": "phases/bench_phases.py", "cm1": "cm1/bench_cm1.py", "compression": "cm1/bench_compression.py",
           "record": "record/bench_record.py", "replay": "replay/bench_replay.py", "view": "view/bench_view.py"}
LIMIT_S = 1800  # of a part
END_S = 30  # for ending its own processes
CANNOT = 77  # exit status of a part that this machine cannot have; the last line of its output is the reason
RESULTS = "results.json"
EXAMPLES = f"""
parts: {', '.join(PARTS)}

examples:
  ./dev bench all                   about {sum(seconds for _, seconds in PARTS.values()) // 60} minutes; the page is DIR/page.html
  ./dev bench all --results DIR     continues where it was interrupted, or
                                    only redraws the page
  ./dev bench all --results DIR --only write,phases       repeats these two
  ./dev bench all --quick           two minutes: checks that it runs

exit status: 0 everything is measured or left out, 1 a part failed, 2 wrong usage, 130 interrupted
"""


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup sets it
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        return campaign(options)
    except (ValueError, OSError) as failure:
        print(f"bench all: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"bench all: interrupted; nothing is left running, and results are kept. --results {options.results} continues",
              file=sys.stderr)
        return 130


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(prog="./dev bench all", description=__doc__, epilog=EXAMPLES, formatter_class=HelpText)
    add = parser.add_argument
    add("--results", type=Path, metavar="DIR", default=Path("bench-results") / datetime.now().strftime("%Y-%m-%d-%H%M"),
        help="folder for results and logs (bench-results/<date-time>); parts that it already has are not measured again")
    add("--only", type=lambda text: text.split(","), default=[], metavar="A,B", help="only these parts, even if the folder already has them")
    add("--fields", type=Path, metavar="FILE", help="HDF5 file with groups of 3D float32 datasets, for reduce (a small slice of CM1's)")
    add("--folder", type=Path, metavar="DIR", help="where the runs write (the system's temporary folder)")
    add("--quick", action="store_true", help="few samples: only checks that everything runs; the figures mean little")
    options = parser.parse_args(words)
    unknown = [name for name in options.only if name not in PARTS]
    if unknown:
        parser.error(f"argument --only: '{unknown[0]}' is none of: {', '.join(PARTS)}")
    if options.folder and not options.folder.is_dir():
        parser.error(f"argument --folder: there is no folder {options.folder}")
    if options.fields and not options.fields.is_file():
        parser.error(f"argument --fields: there is no file {options.fields}")
    return options


def campaign(options):
    """Returns the exit status."""
    results = read_results(options.results, options.quick)
    todo = options.only or [name for name in PARTS if "report" not in results["parts"].get(name, {})]
    options.results.mkdir(parents=True, exist_ok=True)
    print(f"results: {options.results}")
    for number, name in enumerate(todo, 1):
        print(f"{number} of {len(todo)}: {name}{'' if options.quick else f', about {PARTS[name][1]} s'}", flush=True)
        entry = measured(name, options)
        print(f"  {'done' if 'report' in entry else entry.get('left_out') or 'FAILED: ' + entry['failed']}", flush=True)
        # An earlier result stays where it cannot be measured again.
        if "report" in entry or "report" not in results["parts"].get(name, {}):
            results["parts"][name] = entry
        write_whole(options.results / RESULTS, json.dumps(results, indent=1))
        if "failed" in entry:
            results.setdefault("failed", []).append(name)
    failed = results.pop("failed", [])
    from page import draw_page, markdown  # they need the Python environment; the help does not
    write_whole(options.results / "page.html", draw_page(results))
    write_whole(options.results / "figures.md", markdown(results))
    print(f"written: {options.results / 'page.html'}, figures.md")
    if failed:
        print(f"bench all: failed: {', '.join(failed)}; see the logs in {options.results}", file=sys.stderr)
    return 1 if failed else 0


def read_results(folder, quick):
    """Raises ValueError with the remedy if the campaign cannot continue with them."""
    path = folder / RESULTS
    if not path.exists():
        return dict(quick=quick, parts={})
    try:
        results = json.loads(path.read_text())
        was = results["quick"], results["parts"].keys() - PARTS.keys()
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise ValueError(f"{path} is not a result of bench all ({failure!r}); remove it, or use another --results") from failure
    if was[0] != quick:
        raise ValueError(f"{folder} holds a {'quick' if was[0] else 'full'} campaign; {'add' if was[0] else 'leave out'} --quick, "
                         "or use another --results")
    return results


def write_whole(path, text):
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def measured(name, options):
    """When it was, and its report, or why there is none."""
    entry = dict(began=datetime.now().strftime("%Y-%m-%d %H:%M"), commit=commit())
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="damaris-bench.all.", dir=options.folder, ignore_cleanup_errors=True) as place:
        report = Path(place) / "report.json"
        status = run_part(command_line(name, report, options, place), options.results / f"{name}.log", LIMIT_S)
        entry["seconds"] = round(time.monotonic() - began, 1)
        if status == 0 and report.exists():
            return dict(entry, report=json.loads(report.read_text()))
    last = ([line for line in (options.results / f"{name}.log").read_text(errors="replace").splitlines() if line.strip()]
            or ["it printed nothing"])[-1]
    if status == CANNOT:
        return dict(entry, left_out=f"left out: {last}")
    return dict(entry, failed=f"it ended with {status}: {last}" if isinstance(status, int) else status)


def command_line(name, report, options, place):
    verb, *words = PARTS[name][0]
    build = Path(os.environ.get("DAMARIS_BUILD_DIR", ROOT / "build" / "dev"))
    program = [sys.executable, "-B", ROOT / "bench" / SCRIPTS[verb]] if verb in SCRIPTS else [build / "bin" / "damaris-bench", verb]
    words += [] if verb == "queue" else ["--folder", place]
    words += ["--fields", options.fields.resolve()] if verb == "reduce" and options.fields else []
    return list(map(str, [*program, *words, "--json", report, *(["--quick"] if options.quick else [])]))


def run_part(words, log, limit_s):
    """Its exit status, or a sentence. Nothing of it is left running, also when this is interrupted."""
    with open(log, "wb") as out:
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as failure:
            return f"it cannot be started: {failure}"
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return f"it did not end within {limit_s} s"
        finally:
            end(process)


def end(process):
    """Asks it first: the benchmarks take their own processes and files with them."""
    from core_parts import left_groups, remove
    from sessions import end_session
    try:
        if process.poll() is None:
            process.terminate()
            process.wait(END_S)
    except subprocess.TimeoutExpired:
        pass
    finally:  # also of one that died by itself, and when this is interrupted again
        end_session(process.pid, 0)
        process.wait(END_S)
        memory = Path("/dev/shm")  # the names hold the number of the process, so nobody else's is touched
        for left in (f"damaris.{os.geteuid()}.bench-{process.pid}.*", f"damaris.bench.*.{process.pid}", f"damaris.bench.{process.pid}"):
            for region in memory.glob(left):
                region.unlink(missing_ok=True)
        for group in left_groups(process.pid):
            remove(group)


def commit():
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())

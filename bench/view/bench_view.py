"""How fluid the timeline of a large recording is, in the server and in a headless Chromium without a GPU, and what the levels cost at unify.

Also: what the report promises for communication, against the program that was really changed. README.md beside this file says what is measured.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from http.cookiejar import CookieJar
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/cm1", "bench/page", "examples/cm1", "test/support")]

from help_text import HelpText  # noqa: E402
from program import add_places, check_places, positive, run_benchmark  # noqa: E402
from rows import row  # noqa: E402
from run_cm1 import RunFailed  # noqa: E402

import browser  # noqa: E402

WIDTH = 1280
SHARES = (1, 1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 1024, 1 / 8192)  # of the time, of the windows that are zoomed to
PAINTED = """
const [view, done] = arguments, begin = performance.now();
viewer.drawing.raster = null;
viewer.go(view);
const wait = () => {
  const { raster } = viewer.drawing, { view } = viewer;
  if (!raster || raster.begin !== view.begin || raster.last !== Math.ceil(view.last)) { setTimeout(wait, 1); return; }
  viewer.drawing.context.getImageData(0, 0, 1, 1);
  done(performance.now() - begin);
};
wait();
"""
PANNED = """
const drawing = viewer.drawing, { begin, end, first, last } = viewer.view, step = (end - begin) / 200;
return Array.from({ length: 60 }, (_, i) => {
  const start = performance.now();
  drawing.draw({ begin: begin + i * step, end: end + i * step, first, last });
  drawing.context.getImageData(0, 0, 1, 1);
  return performance.now() - start;
});
"""


def main():
    parser = argparse.ArgumentParser(prog="./dev bench view", description=__doc__, formatter_class=HelpText)
    add = parser.add_argument
    add("--calls", type=positive, default=100_000_000, metavar="N", help="calls in the recording (100000000)")
    add("--processes", type=positive, default=512, metavar="N", help="processes in the recording (512)")
    add("--repeats", type=positive, default=5, metavar="N", help="starts of the viewer, windows of each size, runs of the program (5)")
    add_places(parser, "a recording of few calls")
    options = parser.parse_args()
    check_places(parser, options)
    if options.quick:
        vars(options).update(calls=100_000, processes=16, repeats=2)
    return run_benchmark("view", options, lambda console, folder: measure(folder, options))


def spread(values):
    """Median, least and greatest."""
    return statistics.median(values), min(values), max(values)


def in_a_process(task, *arguments):
    """What it returns; its memory does not count."""
    fork = get_context("fork")
    results = fork.SimpleQueue()
    child = fork.Process(target=lambda: results.put(task(*arguments)))
    child.start()
    child.join()
    if child.exitcode:
        raise RunFailed(f"{task.__name__} ended with {child.exitcode}")
    return results.get()


def make_store(folder, calls, processes):
    from large_store import LargeStore

    (folder / "recording.json").parent.mkdir()
    (folder / "recording.json").write_text('{"format": "damaris recording", "version": 1, "program": ["model"]}\n')
    made = LargeStore(folder / "store", calls, processes)
    made.write()
    return made.calls


@contextmanager
def viewer(run):
    """Its process and address."""
    words = [sys.executable, "-m", "damaris.verbs", "view", str(run), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            if not address:
                raise RunFailed("damaris view has not started")
            yield process, address
        finally:
            process.terminate()


def until_drawn(window):
    for _ in range(6000):
        if window.ask("return window.viewer && document.body.dataset.drawn === location.hash && !!location.hash"):
            return
        time.sleep(0.005)
    raise RunFailed(f"the picture did not come within 30 s: {window.ask('return document.body.innerText')[-300:]}")


def first_picture(run, window):
    begin = time.perf_counter()
    with viewer(run) as (_, address):
        window.open("about:blank", WIDTH)
        window.driver.get(address)
        for _ in range(6000):
            if window.ask("return !!(window.viewer && window.viewer.drawing.raster)"):
                return time.perf_counter() - begin
            time.sleep(0.005)
    raise RunFailed("the first picture did not come within 30 s")


def windows(about, repeats):
    """Two sizes in rows, all and 16; places spread over the time."""
    duration, rows = about["duration"], len(about["rows"])
    for share in SHARES:
        for number in range(repeats):
            for many in (rows, min(16, rows)):
                begin, first = duration * (1 - share) * number / repeats, (rows - many) * number // repeats
                yield dict(begin=begin, end=begin + duration * share, first=first, last=first + many)


def memory_of(pid):
    """Bytes that a process has had at most."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def fluid(run, window, repeats):
    """Of each window: seconds in the server, and until it was painted; of each frame; and bytes of memory."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with viewer(run) as (process, address):
        opener.open(address).read()
        window.open(address, WIDTH)
        until_drawn(window)
        about, width = window.ask("return [viewer.about, viewer.drawing.width]")
        served, painted, lined, frames = [], [], [], []
        for view in windows(about, repeats):
            begin = time.perf_counter()
            opener.open(f"{address.split('?')[0]}api/raster?{urllib.parse.urlencode(view | dict(width=width))}").read()
            served.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            painted.append(window.driver.execute_async_script(PAINTED, view) / 1e3)
            until_drawn(window)
            lined.append(time.perf_counter() - begin)
            frames += window.ask(PANNED)
        return served, painted, lined, [frame / 1e3 for frame in frames], memory_of(process.pid)


def share_of_levels(folder, calls):
    """Of unify's time."""
    subprocess.run([sys.executable, ROOT / "bench/record/bench_unify.py", "--slots", str(calls), "--run", folder], check=True, stdout=subprocess.DEVNULL)
    from damaris import levels, unify

    spent, write = [], levels.write_of_parts

    def timed(*arguments):
        begin = time.process_time()
        write(*arguments)
        spent.append(time.process_time() - begin)

    levels.write_of_parts = timed
    begin = time.process_time()
    unify.unify(folder)
    return spent[0] / (time.process_time() - begin)


def promises(folder, programs, repeats):
    """Of each pair of runs: the recorded seconds, those that the report promises for the changed program, and those that it takes."""
    import damaris
    from damaris.communication import without_allreduces, without_barriers, without_chains
    from damaris.facts import Facts

    def recorded(program, name):
        words = [ROOT / "scripts/mpi-run", os.environ["DAMARIS_MPI_FLAVOUR"], "-n", "4", "damaris", "record", "-o", folder / name, program]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunFailed(f"{program.name} ended with {done.returncode}: {done.stderr[-500:]}")
        return Facts(damaris.open(folder / name)).talk

    found = []
    for number in range(repeats):
        before, after = [recorded(program, f"{program.name}.{number}") for program in programs]
        gain = before.gain(without_chains, without_allreduces, without_barriers) / len(before.processes)
        found.append((before.before.total / 1e9, before.before.total / 1e9 - gain, after.before.total / 1e9))
    return found


def measure(folder, options):
    run, repeats = folder / "run", options.repeats
    calls = in_a_process(make_store, run, options.calls, options.processes)
    share = in_a_process(share_of_levels, folder / "unify", min(options.calls, 10_000_000))
    rows, notes = [row("levels' share of unify's time", [share] * 3, "lower", 0.2, 0.1)], []
    details, lines = dict(levels=share), []
    if why := browser.why_none():
        notes.append(f"not measured, as there is no browser: the picture ({why})")
    else:
        window = browser.Browser()
        try:
            first = [first_picture(run, window) for _ in range(repeats)]
            served, painted, lined, frames, memory = fluid(run, window, repeats)
        finally:
            window.close()
        rows[:0] = [row("first picture, from the command on, s", spread(first), "lower", 2, 1),
                    row("zoom in the server, ms", spread([1e3 * one for one in served]), "lower", 100, 50),
                    row("zoom painted in Chromium, ms", spread([1e3 * one for one in painted]), "lower", 300, 100),
                    row("pan, a frame, ms", spread([1e3 * one for one in frames]), "lower", 16, 4),
                    row("memory of the server, GiB", [memory / 2**30] * 3, "lower", 2, 0.5)]  # fmt: skip
        size = 2 * repeats
        for number, share in enumerate(SHARES):
            of = slice(number * size, (number + 1) * size)
            lines.append([f"1/{round(1 / share)}", *(f"{1e3 * statistics.median(times[of]):.0f}" for times in (served, painted, lined))])
        details |= dict(first=first, served=served, painted=painted, lines=lined, frames=frames, memory=memory)
    programs = [Path(os.environ["DAMARIS_BUILD_DIR"]) / f"examples/flash_pattern/flash_pattern{kind}" for kind in ("", "_mended")]
    if all(program.exists() for program in programs):
        found = promises(folder, programs, repeats)
        off = [100 * abs(promised / real - 1) for _, promised, real in found]
        rows.append(row("promised time off the changed program's, %", spread(off), "lower", 15, 5))
        middle = [statistics.median(column) for column in zip(*found, strict=True)]
        notes.append("flash_pattern took {:.3f} s, {:.3f} s were promised without its habits, and the program without them took {:.3f} s.".format(*middle))
        details["promises"] = found
    else:
        notes.append("not measured, as this build has no examples: what the report promises")
    table = dict(text=f"{calls:,} calls of {options.processes} processes; ms, medians of {2 * repeats}: all processes, and 16.",
                 heads=["of the time", "server", "painted", "with lines"], lines=lines)  # fmt: skip
    return dict(settings=dict(calls=calls, processes=options.processes, repeats=repeats), rows=rows, notes=notes, details=details, table=table)


if __name__ == "__main__":
    sys.exit(main())

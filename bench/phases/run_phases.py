"""One run of damaris-bench-phases: starts it, samples the processor time of its ranks, collects what they and the manifest tell.

Used by: bench_phases.py. Before it: settings. After it: a run as README.md describes it.
"""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from run_cm1 import Clock, RunFailed, end_group
from slow_storage import storage as slow_storage

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 900
WAYS_S = 60  # it only prints
SAMPLE_S = 0.05
TICKS = os.sysconf("SC_CLK_TCK")
WITH_DEDICATED_CORES = ("damaris", "damaris-deflate")


@dataclass(frozen=True)
class Settings:
    """The options of a run, as README.md explains them. Sizes in bytes."""

    ranks: int
    bytes: int
    phases: int
    compute: float
    transfer: int
    chunk: int
    stripe: int
    groups: int  # files of grouped
    writers: int  # of one-writer; dedicated cores of damaris
    fields: str | None


def find_program():
    """Fills in what ./dev would have set, so that the script also runs by itself after a build."""
    build = Path(os.environ.setdefault("DAMARIS_BUILD_DIR", str(ROOT / "build" / "dev")))
    os.environ.setdefault("DAMARIS_SOURCE_DIR", str(ROOT))
    os.environ.setdefault("DAMARIS_MPI_FLAVOUR", "openmpi")
    os.environ.setdefault("DAMARIS_PLUGIN_PATH", str(build / "lib" / "damaris" / "plugins"))
    os.environ["DAMARIS_JOB"] = f"bench-{os.getpid()}"  # beside other runs, and beside other benchmarks
    program = build / "bench" / "damaris-bench-phases"
    if not os.access(program, os.X_OK):
        raise RunFailed(f"there is no program {program}; build it with: ./dev build (it needs MPI and HDF5)")
    return program


def built_ways():
    try:
        done = subprocess.run([find_program(), "--ways"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=WAYS_S)
    except subprocess.TimeoutExpired as failure:
        raise RunFailed(f"{find_program()} --ways was not done after {WAYS_S} s") from failure
    if done.returncode != 0:
        raise RunFailed(f"{find_program()} --ways ended with {done.returncode}: {done.stderr}")
    return done.stdout.split()


def command_line(way, storage, settings, place):
    launcher = Path(os.environ["DAMARIS_SOURCE_DIR"]) / "scripts" / "mpi-run"
    groups = settings.groups if way == "grouped" else settings.writers
    words = [launcher, os.environ["DAMARIS_MPI_FLAVOUR"], "-b", "-n", settings.ranks, find_program(), way, "--groups", groups,
             "--folder", place / "data", "--results", place / "results"]
    for name in ("bytes", "phases", "compute", "transfer", "chunk", "stripe"):
        words += [f"--{name}", getattr(settings, name)]
    if storage.sync:
        words.append("--sync")
    if settings.fields:
        words += ["--fields", settings.fields]
    return [str(word) for word in words]


def run(way, storage, settings, place):
    """Runs in the new folder `place`, which is gone afterwards."""
    here = place / "run"
    for name in ("data", "results"):
        (here / name).mkdir(parents=True)
    try:
        with slow_storage(place, storage.rate, under="run/data") as slow:
            samples = launch(command_line(way, storage, settings, here), here, slow.environment)
            found = collect(way, settings, here, samples)
            slow.check(found[1]["stored_bytes"], way, "use --storage cache or disk")
        return found
    finally:
        shutil.rmtree(place, ignore_errors=True)
        remove_regions()


def remove_regions():
    """What a dedicated core leaves that was killed: its job has this process's number, so nobody else's is touched."""
    for region in Path("/dev/shm").glob(f"damaris.{os.geteuid()}.{os.environ['DAMARIS_JOB']}.*"):
        region.unlink(missing_ok=True)


def launch(words, place, environment):
    """Returns {rank: [(time, processor time used until then), ...]}. Raises RunFailed with the end of what the program said."""
    samples = {}
    output = place / "output"
    with open(output, "wb") as out, subprocess.Popen(words, cwd=place, env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
                                                     stdout=out, stderr=subprocess.STDOUT, start_new_session=True) as process:
        clock = Clock(process, LIMIT_S)
        try:
            while process.poll() is None:
                sample(place / "results", samples)
                time.sleep(SAMPLE_S)
        finally:
            clock.stop()
            end_group(process)
    if process.returncode != 0:
        said = output.read_text(errors="replace")[-2000:] + "".join(sorted(reasons(place / "results")))
        ended = f"was not done after {LIMIT_S} s" if clock.rang else f"ended with {process.returncode}"
        raise RunFailed(f"{' '.join(words)}\n{ended}:\n{said}")
    return samples


def reasons(results):
    """Of ranks that failed: the launcher may have lost what they said."""
    return {path.read_text() for path in results.glob("rank*.failed")}


def sample(results, samples):
    for path in results.glob("rank*.jsonl"):
        first, complete, _ = path.read_text().partition("\n")
        if not complete:
            continue
        rank = json.loads(first)
        try:
            words = Path(f"/proc/{rank['pid']}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        samples.setdefault(rank["rank"], []).append((time.monotonic(), (int(words[11]) + int(words[12])) / TICKS))


def collect(way, settings, place, samples):
    ranks = [[json.loads(line) for line in (place / "results" / f"rank{rank}.jsonl").read_text().splitlines()]
             for rank in range(settings.ranks)]
    phases = {lines[0]["rank"]: lines[1:-1] for lines in ranks}
    computing = [lines for lines in phases.values() if lines]
    found = dict(bytes=[lines[0]["bytes"] for lines in computing],
                 visible_s=by_phase(computing, lambda line: line["write"][1] - line["write"][0]),
                 memcpy_s=by_phase(computing, lambda line: line["memcpy_s"]),
                 cpu_s=by_phase(computing, lambda line: line["cpu_s"]),
                 wall_s=max(lines[-1]["end"] for lines in ranks) - min(lines[0]["compute"][0] for lines in computing))
    if way in WITH_DEDICATED_CORES:
        found["server"] = server_times(place / "data" / "phases.jsonl", settings.phases, computing)
    files = [path for path in (place / "data").rglob("*") if path.is_file() and path.name != "phases.xml"]
    left = dict(files=len(files), stored_bytes=sum(path.stat().st_size for path in files))
    return found, left, dict(ranks=[cpu_of(rank, lines, samples.get(rank, [])) for rank, lines in sorted(phases.items())])


def by_phase(computing, value):
    return [[value(line) for line in lines] for lines in zip(*computing)]


def server_times(record, phases, computing):
    steps = [step for step in map(json.loads, record.read_text().splitlines()) if "step" in step]
    whole = {step["step"]: step for step in steps if step["complete"]}
    if set(whole) != set(range(phases)):
        raise RunFailed(f"the manifest says that phases {sorted(set(range(phases)) - set(whole))} were not stored whole")
    ends = [max(line["write"][1] for line in lines) for lines in zip(*computing)]
    return dict(write_s=[whole[phase]["stored_s"] for phase in range(phases)], interval_s=[b - a for a, b in zip(ends, ends[1:])])


def cpu_of(rank, lines, samples):
    return dict(rank=rank, dedicated=not lines, at=[at for at, _ in samples], cpu_s=[used for _, used in samples],
                phases=[dict(compute=line["compute"], write=line["write"]) for line in lines])

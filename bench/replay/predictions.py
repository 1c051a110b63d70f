"""What replays predict of a program that then runs: on another file system, with dedicated cores, and which way of writing is fastest.

Used by: bench_replay.py. Before it: a folder. After it: rows. A prediction is in predictions.json before the program runs that it is about.
"""

import json
import os
import statistics
import subprocess
from pathlib import Path

from rows import row
from run_cm1 import RunFailed, launch, prepare

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DAMARIS_BUILD_DIR", ROOT / "build/dev"))
PROGRAM = BUILD / "bench/damaris_bench_replay_phases"
XML = """<simulation name="phases">
  <architecture> <dedicated cores="1"/> <buffer size="256MiB" timeout="5min"/> </architecture>
  <data> <layout name="bytes" type="uint8" dimensions="0"/> <variable name="block" layout="bytes"/> </data>
  <storage> <hdf5 basename="phases"/> </storage>
</simulation>
"""
WAYS = {"as it is": "file", "collective": "collective", "1 dedicated core": "dedicated"}  # of damaris advise, and of phases.c
STORM = dict(nx=64, ny=64, nz=40, dx=1000.0, dy=1000.0, dz=500.0, dtl=6.0, rstfrq=-1.0, statfrq=6000.0, tapfrq=60.0)
SMALL = dict(nx=24, ny=24, nz=20, zd=8000.0)


def can_mount():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


class Predictions:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.cores = max(2, min(3, len(os.sched_getaffinity(0))))
        self.made, self.lines, self.notes, self.rows = [], [], [], []

    def measure(self):
        (self.folder / "phases.xml").write_text(XML)
        self.recorded_phases()
        if can_mount():
            self.another_file_system()
        else:
            self.notes.append("Only root can make the file systems of the predictions on tmpfs and ext4: these rows are left out.")
        self.dedicated()
        self.advised("I/O-bound", 5_000, 16 << 20, 1)
        self.advised("compute-bound", 100_000, 256 << 10, 0)

    # --- programs ---

    def run(self, words, place=None, kind=None):
        """What it prints, with a new file system of that kind mounted on `place`."""
        if kind:
            mount = 'mount -t tmpfs tmpfs "$1"' if kind == "tmpfs" else 'mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$0" && mount -o loop "$0" "$1"'
            words = ["unshare", "-m", "sh", "-c", f'{mount} && shift && exec "$@"', self.folder / "disk", place, *words]
        done = subprocess.run([str(one) for one in words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunFailed(f"{' '.join(map(str, words))} ended with {done.returncode}: {(done.stderr or done.stdout)[-1000:]}")
        return done.stdout

    def phases(self, way, place, steps, compute_us, size, every, record=None, kind=None):
        """Its seconds."""
        before = ["damaris", "record", "-o", record, "--force"] if record else []
        words = [ROOT / "scripts/mpi-run", os.environ["DAMARIS_MPI_FLAVOUR"], "-b", "-n", self.cores, *before, PROGRAM, way, steps, compute_us, size, every,
                 self.cores, place, self.folder / "phases.xml"]  # fmt: skip
        return float(self.run(words, place, kind).split()[-1])

    def replay(self, *words, place=None, kind=None):
        return json.loads(self.run(["damaris", "replay", *words, "--repeat", self.options.repeats, "--json", "-"], place, kind))

    def plan(self, record, name):
        path = self.folder / name
        self.run(["damaris", "plan", record, "-o", path])
        recorded = next(line for line in path.open() if line.startswith("recorded"))
        return path, int(recorded.split()[1]) / 1e9

    # --- rows ---

    def predict(self, name, seconds):
        self.made.append(dict(name=name, predicted_s=seconds))
        (self.folder / "predictions.json").write_text(json.dumps(self.made, indent=1))

    def compare(self, name, times, good, aim):
        """times: of the program, for which there is a prediction."""
        real, predicted = statistics.median(times), self.made[-1]["predicted_s"]
        errors = [100 * abs(predicted / one - 1) for one in times]
        self.made[-1].update(real_s=times)
        self.rows.append(row(f"{name}, off %", (100 * abs(predicted / real - 1), min(errors), max(errors)), "lower", good, aim))
        self.lines.append([name, f"{predicted:.3f}", f"{real:.3f}", f"{100 * (predicted / real - 1):+.1f}", f"{100 * (max(times) / min(times) - 1):.1f}"])

    def recorded_phases(self):
        """The plan that damaris plan makes: evaluated, and replayed where it ran."""
        place, evaluated, replayed, times = self.folder / "on", [], [], []
        for i in range(self.options.repeats):
            record = self.folder / f"phases.{i}"
            times.append(self.phases("file", place, self.options.steps, 20_000, 1 << 20, 10, record))
            path, recorded = self.plan(record, f"phases.{i}.plan")
            virtual = json.loads(self.run(["damaris", "replay", path, "--evaluate", "--json", "-"]))
            evaluated.append(100 * abs(virtual["evaluated_seconds"] / recorded - 1))
            replayed.append(100 * abs(self.replay(path, "--on", place)["total"]["error"]))
        self.rows.append(row("evaluated off the recorded time, %", (statistics.median(evaluated), min(evaluated), max(evaluated)), "lower", 0.5, 0.2))
        self.rows.append(row("replayed off the recorded time, %", (statistics.median(replayed), min(replayed), max(replayed)), "lower", 10, 3))
        self.notes.append(f"The program's own spread in these runs: {100 * (max(times) / min(times) - 1):.1f} % from the fastest to the slowest.")

    def another_file_system(self):
        with (self.folder / "disk").open("wb") as disk:  # written, so that the first one on it does not pay for its blocks
            for _ in range(512):
                disk.write(bytes(1 << 20))
            os.fsync(disk)
        place = self.folder / "other"
        place.mkdir()
        setting = (self.options.steps, 20_000, 1 << 20, 10)
        for source, target in (("tmpfs", "ext4"), ("ext4", "tmpfs")):
            record = self.folder / f"record.{source}"
            ran = self.phases("file", place, *setting, record, source)
            path, recorded = self.plan(record, f"{source}.plan")
            report = self.replay(path, "--on", place, place=place, kind=target)
            name = f"{target} predicted from {source}"
            self.predict(name, statistics.median(report["totals_seconds"]) - (recorded - ran))
            self.compare(name, [self.phases("file", place, *setting, None, target) for _ in range(self.options.repeats)], 10, 5)

    def storm(self, backend, place, before=()):
        outputs = 1 if self.options.quick else 6
        prepare(place, {**STORM, **(SMALL if self.options.quick else {}), "timax": outputs * 60.0, "backend": backend})
        done = launch(place, self.cores, limit_s=600, own_cores=self.cores <= len(os.sched_getaffinity(0)), before=before)
        found = [word.split("=")[1] for word in done.output.split() if word.startswith("time_to_solution_s=")]
        if done.returncode or not found:
            raise RunFailed(f"the mini-app with {backend} ended with {done.returncode}:\n{done.output[-1000:]}")
        return float(found[0])

    def dedicated(self):
        """The storm with a file for each process, recorded, of which the middle recording counts; then with servers, at equal cores."""
        records = [self.folder / f"storm.{i}" for i in range(min(3, self.options.repeats))]
        runs = sorted((self.storm("fpp", self.folder / "fpp", ["damaris", "record", "-o", str(one)]), one) for one in records)
        ran, record = runs[len(runs) // 2]
        path, recorded = self.plan(record, "storm.plan")
        self.notes.append(f"CM1 with a file for each process took {', '.join(f'{one:.2f}' for one, _ in runs)} s while it was recorded.")
        report = self.replay(path, "--as", "dedicated", "--on", self.folder / "on")
        name = "dedicated predicted from file per process (CM1)"
        self.predict(name, report["total_seconds"] - (recorded - ran))
        self.compare(name, [self.storm("damaris", self.folder / f"damaris.{i}") for i in range(self.options.repeats)], 10, 5)

    def advised(self, name, compute_us, size, every):
        """Real times of the way that advise names, by those of the fastest one."""
        steps, place = 3 if self.options.quick else 20, self.folder / "on"
        record = self.folder / f"record.{name}"
        ran = self.phases("file", place, steps, compute_us, size, every, record)
        advice = json.loads(self.run(["damaris", "advise", record, "--on", place, "--repeat", min(3, self.options.repeats), "--json", "-"]))
        around = advice["recorded_seconds"] - ran  # start and end of the program
        predicted = {one["name"]: one["median_seconds"] - around for one in advice["ways"] if one["seconds"]}
        self.predict(f"{name}: fastest is {advice['best']}", predicted[advice["best"]])
        runs = {way: [self.phases(mine, place, steps, compute_us, size, every) for _ in range(min(3, self.options.repeats))]
                for way, mine in WAYS.items() if way in predicted}  # fmt: skip
        real = {way: statistics.median(times) for way, times in runs.items()}
        self.made[-1].update(predicted=predicted, real=real)
        if "1 dedicated core" in real:
            self.predict(f"dedicated predicted, {name}", predicted["1 dedicated core"])
            self.compare(f"dedicated predicted, {name}", runs["1 dedicated core"], 10, 5)
        quotient = real[advice["best"]] / min(real.values())
        self.rows.append(row(f"advised way / fastest way, {name}", [quotient] * 3, "lower", 1.1, 1.0))
        told = ", ".join(f"{way} {predicted[way]:.2f} ({seconds:.2f})" for way, seconds in real.items())
        self.notes.append(f"Advice, {name}: {advice['best']}, confidence {advice['confidence']}. Predicted (and real) seconds: {told}.")

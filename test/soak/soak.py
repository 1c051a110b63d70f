"""./dev soak: two small jobs for a long time; the memory of none of their processes may grow.

One stores in HDF5, at most 72 000 steps, a file each, with views of the run that soon reach the memory that they may take; the other gives
its data away as fast as it can, in a shared pool.
Private memory (RssAnon), open files and mappings of each server and client, and what their jobs take of /dev/shm, are looked at all the
time; what they are in the last tenth of the time is compared with the second tenth. At the end nothing of the jobs may be in /dev/shm.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

XML = """<simulation name="soak">
  <architecture><clients count="{clients}"/><server start="manual"/><buffer size="4MiB" split="{split}" timeout="10min"/></architecture>
  <data>
    <parameter name="n" type="int" value="512"/>
    <layout name="cloud" type="double" dimensions="n"/><layout name="wave" type="double" dimensions="512"/>
    <variable name="cloud" layout="cloud"/><variable name="wave" layout="wave"/>
  </data>
  {storage}
  <actions><event name="look"/></actions>
</simulation>
"""
JOBS = {  # name: how the buffer is shared, what becomes of the data
    "hdf5": ("equal", '<storage><hdf5 basename="out/soak" memory="16MiB"/></storage>'),
    "null": ("shared", '<storage><plugin name="null" using="damaris_null.so"/></storage>'),
}
MOST_STEPS = {"hdf5": 72_000}
LEAST_PAUSE_S = 0.002  # between two steps of such a job
GROWTH = 1.05  # of memory that counts as flat, beside
SLACK_KIB = 1024
VIEWS_KIB = 8192  # of the hdf5 server instead: half of what it may take for its views
BEGIN_S = 120  # until all processes of the jobs have their memory
SHM = pathlib.Path("/dev/shm")


def parse(words):
    parser = argparse.ArgumentParser(prog="./dev soak", description="Runs two small jobs for a long time, and checks that the memory of "
                                     "their servers and clients stays flat.",
                                     epilog="Exit status: 0 flat, 1 something grew or failed, 2 wrong usage. Stores up to 2 GB in the temporary folder.")
    parser.add_argument("--minutes", type=float, default=120, metavar="M", help="duration (default: 120)")
    parser.add_argument("--clients", type=int, default=2, metavar="N", help="clients of each job (default: 2)")
    options = parser.parse_args(words)
    if options.minutes <= 0 or options.clients < 1:
        parser.error("--minutes and --clients must be above 0")
    return options


class Process:
    """One whose resources are looked at."""

    def __init__(self, name, pid):
        self.name, self.pid, self.seen = name, pid, []
        self.slack_kib = VIEWS_KIB if name == "hdf5 server" else SLACK_KIB

    def look(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        files = len(os.listdir(f"/proc/{self.pid}/fd"))
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text().count("\n")
        self.seen.append((int(fields["RssAnon"].split()[0]), files, maps))

    def tenth(self, number):
        """Medians of (KiB, files, mappings) in that tenth of the time."""
        count = len(self.seen)
        part = self.seen[count * number // 10:max(count * (number + 1) // 10, count * number // 10 + 1)]
        return tuple(statistics.median_low(column) for column in zip(*part))

    def is_flat(self):
        before, after = self.tenth(1), self.tenth(9)
        return after[0] <= before[0] * GROWTH + self.slack_kib and after[1] <= before[1] + 1 and after[2] <= before[2] * GROWTH + 8


class SharedMemory(Process):
    """What a job has in /dev/shm: the memory and the number of its names there."""

    def __init__(self, name, job):
        super().__init__(f"{name} /dev/shm", 0)
        self.job = job

    def names(self):
        return sorted(path for path in SHM.iterdir() if f".{self.job}." in path.name)

    def look(self):
        blocks = sum(path.stat().st_blocks for path in self.names())
        self.seen.append((blocks // 2, len(self.names()), 0))


class Job:
    def __init__(self, name, folder, clients, seconds):
        split, storage = JOBS[name]
        self.name, self.folder = name, folder / name
        pause_s = max(LEAST_PAUSE_S, seconds / MOST_STEPS[name]) if name in MOST_STEPS else 0
        (self.folder / "out").mkdir(parents=True)
        (self.folder / "soak.xml").write_text(XML.format(clients=clients, split=split, storage=storage))
        self.job = f"soak_{os.getpid()}_{name}"
        self.environment = os.environ | {"DAMARIS_JOB": self.job}
        self.shared = SharedMemory(name, self.job)
        self.server = self.start("server", "damaris-server", "soak.xml")
        self.clients = [self.start(f"client{i}", os.environ["DAMARIS_BUILD_DIR"] + "/test/bin/soak_client", "soak.xml", str(i), "stop", str(int(pause_s * 1e6))) for i in range(clients)]

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "w")
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        process.watched = Process(f"{self.name} {name}", process.pid)
        return process

    def processes(self):
        return [self.server, *self.clients]

    def watched(self):
        return [*(process.watched for process in self.processes()), self.shared]

    def has_begun(self):
        """Whether each of its processes has the memory that they share."""
        try:
            return all(f".{self.job}." in pathlib.Path(f"/proc/{process.pid}/maps").read_text() for process in self.processes())
        except OSError:
            return False

    def left(self):
        return [f"{name} is left" for name in self.shared.names()]

    def failures(self):
        return [f"{p.watched.name} ended with {p.returncode}: {(self.folder / (p.watched.name.split()[1] + '.log')).read_text()[-500:]}"
                for p in self.processes() if p.poll() not in (None, 0)]

    def stop(self):
        """The number of steps of each client."""
        (self.folder / "stop").touch()
        for process in [*self.clients, self.server]:
            process.wait(timeout=180)
        # The last line: client 0 says one of the run before.
        return [int(((self.folder / f"client{i}.log").read_text().splitlines() or ["-1"])[-1]) for i in range(len(self.clients))]


def end(process):
    """Of a job that failed: the server takes its region away."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for_begin(jobs):
    """What a process takes until it is at work would count as growth. Returns what failed."""
    until = time.monotonic() + BEGIN_S
    while waiting := [job for job in jobs if not job.has_begun()]:
        if failed := [failure for job in jobs for failure in job.failures()]:
            return failed
        if time.monotonic() > until:
            return [f"{job.name} has not begun after {BEGIN_S} s" for job in waiting]
        time.sleep(0.05)
    return []


def soak(jobs, seconds):
    """Looks at all processes until the time is over. Returns what failed."""
    begun = told = time.monotonic()
    pause = min(1.0, seconds / 100)
    watched = [one for job in jobs for one in job.watched()]
    while time.monotonic() - begun < seconds:
        time.sleep(pause)
        for job in jobs:
            if failed := job.failures():
                return failed
        for one in watched:
            one.look()
        if time.monotonic() - told >= min(60, max(5, seconds / 10)):
            told = time.monotonic()
            print(f"{(told - begun) / 60:.1f} of {seconds / 60:.1f} min: " +
                  ", ".join(f"{one.name} {one.seen[-1][0] / 1024:.1f} MiB" for one in watched if "client" not in one.name), flush=True)
    return []


def table(jobs):
    print(f"\n{'process':16}{'memory MiB':>20}{'open files':>16}{'mappings':>16}")
    flat = True
    for process in (one for job in jobs for one in job.watched()):
        (kib, files, maps), (kib2, files2, maps2) = process.tenth(1), process.tenth(9)
        flat &= process.is_flat()
        print(f"{process.name:16}{kib / 1024:>9.1f} -> {kib2 / 1024:<7.1f}{files:>9} -> {files2:<4}{maps:>8} -> {maps2:<5}"
              f"{'' if process.is_flat() else ' GREW'}")
    return flat


def main(words):
    options = parse(words)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="soak-"))
    jobs = []
    try:
        for name in JOBS:
            jobs.append(Job(name, folder, options.clients, options.minutes * 60))
        failed = wait_for_begin(jobs) or soak(jobs, options.minutes * 60)
        if not failed:
            flat = table(jobs)
            steps = {job.name: min(job.stop()) for job in jobs}
            failed = [failure for job in jobs for failure in job.failures() + job.left()]
    finally:
        for process in (process for job in jobs for process in job.processes()):
            end(process)
        shutil.rmtree(folder)
    if failed:
        print("FAILED:", *failed, sep="\n  ")
        return 1
    print(f"{options.minutes:g} min, " + ", ".join(f"{count} steps of {name}" for name, count in steps.items()) +
          (": flat" if flat else ": NOT flat"))
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

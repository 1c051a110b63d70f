"""The processes of one run, found by a mark in their environment also when they have left their parents; its names in /dev/shm.

Every wait has a bound; beyond it the process is named, with the stacks of all processes of the run.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

MARGIN_S = 20.0  # beyond every bound: the machine may be loaded
SHM = Path("/dev/shm")
CRASHES = {signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGPIPE, signal.SIGSYS, signal.SIGXCPU, signal.SIGXFSZ}


class Hung(Exception):
    """Something did not end within its bound."""

    def __init__(self, what, stacks):
        super().__init__(what)
        self.stacks = stacks


def begin_worker():
    """Servers that a client starts become children of this process when their parent ends, so that it can bury them. When the
    campaign is ended before its time this process ends too, and cleans up."""
    prctl = ctypes.CDLL(None).prctl
    prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(143))


class Processes:
    def __init__(self, mark):
        self.mark = f"TORTURE_RUN={mark}".encode()
        self.own = []  # Popen objects
        self.orphans_crashed = []  # sentences

    def start(self, command, **options):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        self.own.append(process)
        return process

    def pids(self):
        self.bury()
        found = self.children()  # one that is about to end has no environment any more
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as environment:
                if self.mark in environment.read().split(b"\0"):
                    found.add(int(name))
        return sorted(found)

    @staticmethod
    def children():
        lists = [path.read_text(encoding="ascii") for path in Path("/proc/self/task").glob("*/children")]
        return {int(pid) for text in lists for pid in text.split()}

    def bury(self):
        for process in self.own:
            process.poll()
        with suppress(ChildProcessError):
            while True:  # orphans; WNOWAIT: those of Popen are for it
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if dead is None or any(process.pid == dead.si_pid for process in self.own):
                    break
                if dead.si_code != os.CLD_EXITED and dead.si_status in CRASHES:
                    self.orphans_crashed.append(f"{self.name(dead.si_pid)} was ended by {signal.Signals(dead.si_status).name}")
                os.waitpid(dead.si_pid, os.WNOHANG)

    def crashed(self):
        """Sentences, of those that were ended by a signal which nobody has sent."""
        own = [(process.args, -process.poll()) for process in self.own if (process.poll() or 0) < 0]
        return [f"{' '.join(words)} was ended by {signal.Signals(number).name}" for words, number in own if number in CRASHES] + self.orphans_crashed

    @staticmethod
    def name(pid):
        with suppress(OSError), open(f"/proc/{pid}/comm", encoding="ascii") as comm:
            return comm.read().strip()
        return ""

    @staticmethod
    def environment(pid, key):
        with suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environment:
            for entry in environment.read().split(b"\0"):
                if entry.startswith(key.encode() + b"="):
                    return entry.split(b"=", 1)[1].decode()
        return ""

    @staticmethod
    def signal(pids, number):
        """Returns whether there was anybody to get it."""
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return bool(pids)

    def wait_until(self, done, bound_s, what):
        """Polls `done`; throws Hung with the stacks when `bound_s` and the margin are over."""
        deadline = time.monotonic() + bound_s + MARGIN_S
        pause = 0.0005
        while not done():
            if time.monotonic() > deadline:
                raise Hung(f"{what}: not after {bound_s + MARGIN_S:.0f} s", self.stacks())
            time.sleep(pause)
            pause = min(pause * 1.3, 0.01)

    def stacks(self):
        text = ""
        for pid in self.pids():
            state = Path(f"/proc/{pid}/status").read_text(encoding="ascii").split("State:")[1].split("\n")[0].strip()
            text += f"--- {pid} {self.name(pid)} ({state})\n"
            if self.name(pid) in ("mpirun", "orterun", "hydra_pmi_proxy", "mpiexec.hydra"):
                continue
            command = ["gdb", "-batch", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt 30", "-p", str(pid)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
                text += "".join(line + "\n" for line in done.stdout.splitlines() if line.startswith(("#", "Thread")))
            except (OSError, subprocess.TimeoutExpired) as error:
                text += f"(no stack: {error})\n"
        return text

    def kill_all(self):
        deadline = time.monotonic() + 10
        while (left := self.pids()) and time.monotonic() < deadline:
            self.signal(left, signal.SIGKILL)
            time.sleep(0.01)
        for process in self.own:
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)

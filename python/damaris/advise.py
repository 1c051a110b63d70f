"""What dedicated cores, collective I/O or a file for each process would give a recorded program: its plan, replayed in each of these ways."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from damaris.errors import Refused
from damaris.kernel import libraries
from damaris.plan import Plan, Process
from damaris.planning import plan_of
from damaris.store import Recording

LARGE = 16 << 10  # bytes at once, in the mean: what the replay writes in other ways
BUSY = 0.8  # share of the time from which on servers are short of it
SURE = 0.1  # how far the replay of the program as it is may be off its recording, so that its figures are believed


@dataclass
class Way:
    """One line of the table."""

    name: str
    seconds: list[float] = field(default_factory=list)  # of each repetition
    io_seconds: float = 0.0  # of a process, in the mean
    cores: int = 0  # that serve, of each node
    busy: float = 0.0  # share of the time in which a server stores
    buffer_bytes: int = 0
    notes: list[str] = field(default_factory=list)
    failed: str = ""

    @property
    def middle(self) -> float:
        return median(self.seconds)


@dataclass
class Advice:
    folder: str
    recorded_seconds: float
    processes: int
    nodes: int
    ways: list[Way]
    best: str = ""
    cores: int = 0
    buffer_bytes: int = 0
    on_full: str = "block"
    busy: float = 0.0
    confidence: str = ""
    reason: str = ""  # of the confidence
    unknown: list[str] = field(default_factory=list)

    def as_dict(self) -> dict:
        return asdict(self) | {"ways": [asdict(one) | ({"median_seconds": one.middle} if one.seconds else {}) for one in self.ways]}
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def bursts(process: Process) -> Iterator[dict[int, int]]:
    """Bytes by file of what a process writes between two of its communications."""
    written: dict[int, int] = defaultdict(int)
    for op in [*process.ops, None]:
        if op and op.kind == "w":
            written[op.which] += op.bytes
        elif written and (op is None or op.kind in "pgkbafeq"):
            yield written
            written = defaultdict(int)


def writers(plan: Plan) -> dict[int, dict[int, int]]:
    """Bytes by file and process, of what gets large blocks: the rule by which the replay writes a file in another way."""
    found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    count: Counter[int] = Counter()
    for number, process in enumerate(plan.processes):
        for burst in bursts(process):
            for which, size in burst.items():
                found[which][number] += size
                count[which] += 1
    return {which: mine for which, mine in found.items() if sum(mine.values()) // count[which] >= LARGE}


def replayed(words: list[str]) -> dict:
    """The report of `damaris replay`, which puts its folder in order when it is interrupted."""
    program = next((place for place in (libraries().parent / "bin", libraries().parents[1] / "bin") if (place / "damaris-replay").exists()), None)
    if program is None:
        raise Refused(f"damaris-replay is not beside '{libraries()}'; build or install damaris again")
    # Signals wait until the child is known: otherwise one could end this process alone.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    with tempfile.TemporaryFile("w+") as said:
        try:
            child = subprocess.Popen([program / "damaris-replay", *words, "--json", "-"], stdout=subprocess.PIPE, stderr=said, text=True,
                                     start_new_session=True, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before))  # fmt: skip
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            raise
        with child:
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                printed, _ = child.communicate()
            except BaseException:
                child.terminate()
                child.wait()
                raise
        said.seek(0)
        if child.returncode:
            raise Refused(said.read().strip().removeprefix("damaris replay: ") or f"damaris replay ended with {child.returncode}")
        return json.loads(printed)


def cores_here() -> int:
    return len(os.sched_getaffinity(0))


class Adviser:
    def __init__(self, recording: Recording, place: Path, on: str, repeat: int, see: Callable[[str], None], scaling: int = 100):
        """`place`: a folder for plans. `see` is called with what is done next. `scaling`: of the program, in percent."""
        self.recording, self.place, self.on, self.repeat, self.see, self.scaling = recording, place, on, repeat, see, scaling
        self.plan = plan_of(recording)
        self.hosts = [host for (host,) in recording.query("select distinct host from processes where rank is not null").fetchall()] or [""]
        self.processes = len({one.about.split(" thread ")[0] for one in self.plan.processes})
        self.ways: list[Way] = []

    def write(self, plan: Plan, name: str) -> str:
        path = self.place / name
        with path.open("w") as file:
            plan.write(file)
        return str(path)

    def asked_of_mpi(self) -> bool:
        """Whether most is written by calls of MPI-IO: then these are what another way takes the place of."""
        [(mpiio, posix)] = self.recording.query("""select coalesce(sum(bytes) filter (layer = 'mpiio'), 0), coalesce(sum(bytes) filter (layer in ('posix', 'stdio')), 0)
            from calls where kind = 'write' and top""").fetchall()
        return 2 * mpiio > posix

    def run(self) -> Advice:
        written = writers(self.plan)
        if not written:
            raise Refused("no process of this recording writes a file in blocks of 16 KiB or more, so another way of writing would change nothing")
        plan = self.write(self.plan, "plan")
        asked = self.asked_of_mpi()
        other = self.write(plan_of(self.recording, "mpiio"), "plan.mpiio") if asked else plan
        self.as_it_is(plan)
        alone = sum(count for mine in written.values() if len(mine) == 1 for count in mine.values())
        all_bytes = sum(count for mine in written.values() for count in mine.values())
        several = len({process for mine in written.values() for process in mine}) > 1
        if asked or not several or alone < 0.9 * all_bytes:
            self.other_way("file per process", other, "file-per-process")
        if several or asked:
            self.other_way("collective", other, "collective")
        self.dedicated(other)
        return self.advice()

    def as_it_is(self, plan: str) -> None:
        self.see("as it is")
        report = replayed([plan, "--on", self.on, "--repeat", str(self.repeat)])
        io = sum(one["replayed_seconds"] for one in report["kinds"] if one["kind"] in ("open", "read", "write", "sync", "stat", "truncate", "unlink", "close"))
        self.ways.append(Way("as it is", report["totals_seconds"], io / len(self.plan.processes)))

    def other_way(self, name: str, plan: str, way: str, cores: int = 0) -> Way:
        self.see(name)
        made = Way(name, cores=cores)
        self.ways.append(made)
        try:
            report = replayed([plan, "--as", way, "--on", self.on, "--repeat", str(self.repeat), *(["--cores", str(cores), "--scaling", str(self.scaling)] if cores else [])])
        except Refused as refused:
            made.failed = str(refused)
            return made
        made.seconds, made.io_seconds = report["totals_seconds"], report["io_seconds"]["mean"]
        made.notes = [one for one in report["notes"] if "left out" in one]
        if cores:
            made.busy, made.buffer_bytes = report["servers"]["busy_share"], report["servers"]["buffer_bytes"]
        return made

    def dedicated(self, plan: str) -> None:
        """With more cores as long as the servers are short of time."""
        a_node, cores = self.processes // len(self.hosts), 1
        while cores < max(a_node, 2):
            one = self.other_way(f"{cores} dedicated core{'s' * (cores > 1)}", plan, "dedicated", cores)
            cores *= 2
            if one.failed or one.busy < BUSY or 2 * cores > a_node:
                return

    def advice(self) -> Advice:
        found = sorted((one for one in self.ways if one.seconds), key=lambda one: one.middle)
        best, as_it_is = found[0], self.ways[0]
        made = Advice(self.on, self.plan.recorded / 1e9, self.processes, len(self.hosts), self.ways, best.name)
        served = min((one for one in found if one.cores), key=lambda one: one.middle, default=None)
        if served:
            made.cores, made.buffer_bytes, made.busy = served.cores if best.cores else 0, served.buffer_bytes, served.busy
        made.confidence, made.reason = self.confidence(found, as_it_is)
        made.unknown = self.unknown()
        return made

    def confidence(self, found: list[Way], as_it_is: Way) -> tuple[str, str]:
        best = found[0]
        if len(found) == 1:
            return "low", "no other way could be run"
        near = [one.name for one in found[1:] if min(one.seconds) <= max(best.seconds)]
        if near:
            return "low", f"{' and '.join(near)} took as long in some repetitions"
        off = abs(as_it_is.middle / (self.plan.recorded / 1e9) - 1) if self.plan.recorded else 1
        if off > SURE:
            return "medium", f"the program as it is took {100 * off:.0f} % more or less here than it did when it was recorded"
        if self.repeat == 1:
            return "medium", "of one repetition each nobody knows how far the ways scatter; give --repeat 3"
        here = cores_here()
        if here < len(self.plan.processes):
            return "medium", f"{len(self.plan.processes)} processes played on {here} cores, for which their I/O may have competed"
        gain = found[1].middle / best.middle - 1
        if gain < off:
            return "medium", f"the next best, {found[1].name}, is {100 * gain:.1f} % off, no more than the replay is off the recording"
        return "high", f"no repetition of another way was as fast, and the replay of the program as it is took its recorded time within {100 * off:.1f} %"

    def unknown(self) -> list[str]:
        here = cores_here()
        needed = "N/(N-D)" if self.scaling == 100 else f"1 + {self.scaling / 100:g} D/(N-D)"
        facts = [f"how the program scales: fewer computing cores are taken to need {needed} of the time; --scaling changes that"]
        if here < len(self.plan.processes):
            facts.append(f"cores: {len(self.plan.processes)} processes played on {here} cores, and their gaps did not compete for them")
        facts.append("who else used the cores while it was recorded: what it waited for them counts as computing")
        facts.append("memory bandwidth and caches: the replay sleeps where the program computes")
        if len(self.hosts) > 1:
            facts.append(f"the network: the program ran on {len(self.hosts)} nodes, the replay on one")
        facts.append("other users of the file system")
        facts += sorted({note.rstrip(".") for one in self.ways for note in one.notes})
        return facts

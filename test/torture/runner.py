"""Makes one run happen: folder, server, clients, the fault at its moment, the recovery, and what is looked at in between.

Before it: a Scenario. After it: a Result for torture.py. The folder of a run that broke a promise is kept.
"""

import os
import shutil
import subprocess
import tempfile
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import scenario as scenarios
from check import Check
from cluster import environment_of_nodes, scripts_of_ranks
from ledger import read_ledger
from processes import MARGIN_S, SHM, Hung, Processes


@dataclass
class Result:
    seed: int
    kind: str
    mode: str
    outcome: str = "none"  # of the fault: made, not reached, not possible here
    second: str = ""  # kind of the one that came after it
    second_made: bool = False
    datasets: int = 0
    reads: int = 0  # that returned values
    appends: int = 0
    left_out: int = 0  # writes, by back-pressure
    spilled_bytes: int = 0
    reduced_steps: int = 0
    lost: list = field(default_factory=list)  # sentences: what was promised and not kept
    hung: list = field(default_factory=list)
    folder: str = ""
    seconds: float = 0.0


class Runner:
    """One run. What faults.py calls: servers(), client_pids(), processes(), signal(), mount(), out, folder."""

    def __init__(self, run, build):
        self.run, self.build = run, Path(build)
        self.folder = Path(tempfile.mkdtemp(prefix="torture-", dir=None if run.on_disk else SHM))
        self.out = self.folder / "out"
        self.job = f"torture-{os.getpid()}-{run.seed % 10**12}"
        self.group = Processes(self.job)
        self.signal = self.group.signal
        self.clients, self.mounted, self.phase = [], [], "first"
        self.fault_made = False

    # ---- what faults.py uses

    def processes(self):
        return self.group.pids()

    def servers(self):
        if self.run.mode == "mpi":
            ranks = {str(rank) for rank, name in enumerate(scripts_of_ranks(self.run)) if name.startswith("s")}
            return [p for p in self.client_pids() if ranks & {self.group.environment(p, k) for k in ("OMPI_COMM_WORLD_RANK", "PMI_RANK")}]
        return [p for p in self.processes() if self.group.name(p) == "damaris-server"]

    def client_pids(self):
        return [p for p in self.processes() if self.group.name(p).startswith("torture_")]

    def client_pid(self, source):
        """In a list that is empty when it has ended."""
        return [self.clients[source].pid] if self.clients[source].poll() is None else []

    def mount(self, where, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "torture", where], check=True, timeout=20)
        self.mounted.append(where)

    # ---- the course of a run

    def go(self, result):
        fault = self.run.fault
        self.prepare()
        if fault.kind.why_not and fault.kind.why_not(fault):
            result.outcome = "not possible here"
        else:
            if self.run.earlier:
                self.phase = "before"
                self.play("before", None)
                self.phase = "first"
            if fault.kind.prepare:
                fault.kind.prepare(self, fault)
            self.play("first", fault)
            made = self.fault_made or fault.kind.from_the_start or ((fault.kind.armed or fault.kind.dies_at_a_call) and self.somebody_died())
            if fault.kind.dies_at_a_call:
                fault.kind.undo(self, fault)
            result.outcome = "none" if fault.kind.name == "none" else "made" if made else "not reached"
            result.second_made = bool(fault.then and fault.then.made)
            self.after_play(result)

    def somebody_died(self):
        return bool(self.regions()) or not all(read_ledger(self, "first", source).ended for source in self.sources())

    def after_play(self, result):
        check = Check(self, result)
        check.earlier()
        check.calls("first")
        recovery_is_due = bool(self.regions())
        if recovery_is_due:
            check.durable_at_once()
        if self.run.recover == "next":
            self.phase = "second"
            self.play("second", None)
            check.calls("second")
        elif recovery_is_due:
            self.recover(check)
        check.crashes()
        check.slow_plugin()
        check.stored()
        check.verified()
        check.nothing_left()

    def sources(self):
        return range(self.run.clients)

    def prepare(self):
        self.out.mkdir()
        (self.folder / "spill").mkdir()
        (self.folder / "earlier").mkdir()
        os.mkfifo(self.folder / "trigger")
        self.pipe = os.open(self.folder / "trigger", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        for phase, scripts in self.run.scripts.items():
            (self.folder / f"{phase}.xml").write_text(self.run.xml[phase], encoding="ascii")
            for source, lines in enumerate(scripts):
                (self.folder / f"{phase}.{source}.script").write_text("\n".join(lines) + "\n", encoding="ascii")
            if self.run.mode == "mpi":  # the server's rank serves inside that call
                for name in scripts_of_ranks(self.run):
                    if name.startswith("s"):
                        (self.folder / f"{phase}.{name}.script").write_text("init\n", encoding="ascii")

    def environment(self):
        variables = {**os.environ, "DAMARIS_JOB": self.job, "TORTURE_RUN": self.job, "LC_ALL": "C"}
        variables["PATH"] = f"{self.build / 'bin'}:{variables['PATH']}"
        variables["DAMARIS_PLUGIN_PATH"] = str(self.build / "lib/damaris/plugins")
        # What a killed OpenMPI job leaves goes with the folder.
        variables["OMPI_MCA_btl_vader_backing_directory"] = variables["OMPI_MCA_orte_tmpdir_base"] = str(self.folder)
        variables.update(environment_of_nodes(self.run))
        fault = self.run.fault
        if fault.kind.environment and self.phase == "first":
            variables.update(fault.kind.environment(self, fault))
        return variables

    def log_lines(self):
        log = self.folder / "log"
        return log.read_text(errors="replace").splitlines() if log.exists() else []

    def start(self, command, log):
        fault = self.run.fault
        prefix = fault.kind.prefix(self, fault, log) if fault.kind.prefix and self.phase == "first" else []
        with open(self.folder / log, "ab") as out:
            return self.group.start([*prefix, *map(str, command)], cwd=self.folder, env=self.environment(), stdout=out,
                                    stderr=subprocess.STDOUT, close_fds=True)

    def play(self, phase, fault):
        begun = time.monotonic()
        if self.run.mode == "detached" and self.run.started_by == "hand":
            self.start(["damaris-server", f"{phase}.xml"], "server")
        due = begun + fault.delay_s if fault and fault.at_start else None
        if fault and fault.at_start:
            self.sleep_until(due)
            self.make(fault)
        elif self.run.mode == "detached" and self.run.started_by == "hand":
            self.group.wait_until(lambda: self.regions() or not self.servers(), 20, "the server does not make its region")
        self.start_clients(phase)
        self.follow(phase, fault)
        self.group.wait_until(lambda: not self.processes(), self.run.finalize_timeout_s + self.run.attach_timeout_s,
                              "the clients have ended, but not all processes of the run")

    def start_clients(self, phase):
        programs = self.build / "test/bin"
        if self.run.mode == "mpi":
            launcher = Path(os.environ["DAMARIS_SOURCE_DIR"]) / "scripts/mpi-run"
            names = scripts_of_ranks(self.run)
            command = [launcher, os.environ["DAMARIS_MPI_FLAVOUR"], "-n", len(names), programs / "torture_mpi_client"]
            self.clients = [self.start([*command, f"{phase}.xml", phase, *names], "clients")]
        else:
            program = programs / "torture_client"
            self.clients = [self.start([program, f"{phase}.xml", phase, source], "clients") for source in self.sources()]

    def follow(self, phase, fault):
        """Until all clients are over: the fault when its time has come, and watches for clients that make no progress."""
        due = undo = then_due = None
        first = fault if fault and fault.then else None
        watched = {source: (-1, time.monotonic()) for source in self.sources()}
        waiting = bool(fault and fault.kind.act and not fault.at_start)
        go = self.folder / f"{phase}.go" if self.run.mode == "in-place" else None
        while any(client.poll() is None for client in self.clients) or due or then_due:
            now = time.monotonic()
            if first and then_due is None and self.has_come(first) and self.all_attached(phase):
                then_due = now + first.then.delay_s
            if then_due and now >= then_due:
                first.then.made = first.then.kind.act(self, first.then) is not False
                first = then_due = None
            if go and self.all_came(phase):
                go = go.touch()
            waiting = waiting and not self.told()
            if fault and fault.kind.act and not (waiting or fault.tried or due) and self.all_attached(phase):
                due = now + fault.delay_s
            if due and now >= due:
                self.make(fault)
                due, undo = None, (now + fault.hold_s if fault.kind.undo and not fault.for_ever else None)
                continue
            if undo and now >= undo:
                fault.kind.undo(self, fault)
                undo, fault = None, None
            if fault and self.fault_made and fault.kind.undo and fault.for_ever and self.only_the_stopped_are_left(fault):
                fault.kind.undo(self, fault)
                fault = None
            for source in self.sources():
                self.watch(phase, source, watched)
            time.sleep(0.0003 if due or then_due else 0.001)
        if fault and self.fault_made and fault.kind.undo:
            fault.kind.undo(self, fault)

    def has_come(self, fault):
        """One that was armed has come when its client is gone."""
        return self.clients[fault.client].poll() is not None if fault.kind.armed else self.fault_made

    def watch(self, phase, source, watched):
        """Who has noted nothing new for longer than its call may take is hung. `watched`: size of the ledger, and since when."""
        path, (size, since) = self.ledger_path(phase, source), watched[source]
        now_size, now = path.stat().st_size if path.exists() else 0, time.monotonic()
        if now_size != size:
            watched[source] = (now_size, now)
        elif now - since > MARGIN_S and not self.is_over(source):
            calls = read_ledger(self, phase, source).calls
            line = next((call.line for call in calls if call.code is None), "init")
            bound = self.run.bound_s(line.split()[0], line) + MARGIN_S
            if now - since > bound:
                place = f"in '{line}'" if line != "init" or not calls else f"in no call, after '{calls[-1].line}',"
                raise Hung(f"{phase}: client {source} is {place} for more than {bound:.0f} s", self.group.stacks())

    def is_over(self, source):
        """Of an MPI job only the end of all of it is visible."""
        return self.clients[0 if self.run.mode == "mpi" else source].poll() is not None

    def only_the_stopped_are_left(self, fault):
        if fault.kind.name != "client stopped":
            return False  # of storage: until the clients are through
        return all(client.poll() is not None for source, client in enumerate(self.clients) if source != fault.client)

    def all_attached(self, phase):
        """Else a later client starts a server, and so a run, of its own, which may replace what this one has stored."""
        return all(self.attached(phase, source) for source in self.sources())

    def attached(self, phase, source):
        path, number = self.ledger_path(phase, source), self.run.scripts[phase][source].index("init")
        return path.exists() and f"\n= {number} ".encode() in path.read_bytes()

    def all_came(self, phase):
        """Or are gone before they could attach."""
        return all(self.attached(phase, source) or self.is_over(source) for source in self.sources())

    def told(self):
        with suppress(BlockingIOError):
            return bool(os.read(self.pipe, 1))
        return False

    def make(self, fault):
        self.fault_made |= fault.kind.act(self, fault) is not False
        fault.tried = True

    @staticmethod
    def sleep_until(moment):
        time.sleep(max(0.0, moment - time.monotonic()))

    def ledger_path(self, phase, source):
        return self.folder / f"{phase}.{source}.ledger"

    def recover(self, check):
        """By the command; killed first as often as was drawn."""
        for kill_after_s in self.run.fault.recovery_kills_s:
            process = self.start(["damaris-recover", *self.regions()], "recover")
            with suppress(subprocess.TimeoutExpired):
                process.wait(kill_after_s)
            process.kill()
            process.wait()
            if not self.regions():
                return
        process = self.start(["damaris-recover", *self.regions()], "recover")
        self.group.wait_until(lambda: process.poll() is not None, 20, "damaris recover does not end")
        by_the_killed = not self.regions() and "there is no region" in self.text("recover")  # it died while it took the last one away
        if process.returncode != 0 and not by_the_killed:
            check.broken(f"damaris recover ended with {process.returncode}: {self.text('recover')}")

    def text(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""

    def shm_names(self):
        return sorted(name for name in os.listdir(SHM) if f".{self.job}." in name)

    def regions(self):
        return [name for name in self.shm_names() if not name.endswith(".lock")]

    def close(self, keep):
        """Leaves nothing, or what there was in a folder outside /dev/shm, whose name is returned."""
        self.group.kill_all()
        with suppress(AttributeError):
            os.close(self.pipe)
        (self.folder / "trigger").unlink(missing_ok=True)
        for name in self.shm_names():
            (SHM / name).unlink(missing_ok=True)
        kept = tempfile.mkdtemp(prefix=f"torture-{self.run.seed}-") if keep else ""
        if keep:
            shutil.copytree(self.folder, kept, dirs_exist_ok=True, ignore=no_plain_files)
        for where in self.mounted:
            subprocess.run(["umount", "-l", where], check=False, timeout=20)
        shutil.rmtree(self.folder, ignore_errors=True)
        return kept


def no_plain_files(folder, names):
    """Pipes and sockets, of a launcher for instance: they cannot be copied."""
    return [name for name in names if not os.path.islink(path := os.path.join(folder, name))
            and not (os.path.isfile(path) or os.path.isdir(path))]


def draw_run(seed, kinds):
    return scenarios.draw(seed, kinds, with_mpi=os.environ["DAMARIS_MPI_FLAVOUR"] != "OFF")


def run_one(seed, kinds, build, keep):
    """One run from its seed; never throws."""
    begun = time.monotonic()
    run = draw_run(seed, kinds)
    result = Result(seed, run.fault.kind.name, run.mode, second=run.fault.then.kind.name if run.fault.then else "")
    runner = Runner(run, build)
    try:
        runner.go(result)
    except Hung as hung:
        result.hung.append(f"{hung}; the stacks are in its folder")
        (runner.folder / "stacks").write_text(hung.stacks, encoding="utf-8")
    except Exception:  # of the runner itself: a run that was not checked is no good run
        result.lost.append("the runner failed:\n" + traceback.format_exc())
    except SystemExit as end:  # the campaign was ended; its pool would go on
        runner.close(keep=False)
        os._exit(end.code)
    result.folder = runner.close(keep or bool(result.lost or result.hung))
    result.seconds = time.monotonic() - begun
    return result

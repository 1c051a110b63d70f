"""The faults: what is done to a run, when, and what the run may say because of it.

A kind is drawn into a Fault (scenario.py), made by runner.py through `act` and taken back through `undo`; check.py asks what it
explains. A new kind is one entry of FAULTS. `environment` is for faults that come with a preload library.
"""

import os
import random
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from cluster import SHARED
from disk_faults import cannot_preload, draw_death, draw_delay, draw_failure, is_built, no_rule, preload, set_rule, spare_mpi
from limits import draw_limit, limited

FULL, TOO_LARGE, STEP_TOO_LARGE, TIMEOUT = -302, -300, -301, -305
EARLIER_IO, IO, NO_OUTPUT, SERVER_LOST = -401, -400, -402, -600
STALE, IN_USE, NOT_ENDED = -203, -204, -110
SHM, MEMORY, CONFIG, PLUGIN = -303, -304, -200, -500
ALWAYS = {FULL, TOO_LARGE, STEP_TOO_LARGE}  # of any call; a flush may always time out
DETACHED, ANY = ("detached",), ("detached", "in-place", "mpi")


@dataclass
class Fault:
    kind: "Kind"
    client: int = 0
    at_start: bool = False  # of the server; else when a client tells
    delay_s: float = 0.0
    hold_s: float = 0.0  # until it is taken back
    for_ever: bool = False  # taken back when the clients are through, not before
    recovery_kills_s: list = field(default_factory=list)
    rule: str = ""  # of the faulty disk
    tried: bool = False
    then: "Fault" = None  # made `delay_s` after this one
    made: bool = False  # of one that came second


@dataclass
class Kind:
    name: str
    weight: float
    modes: tuple
    act: object = None  # act(runner, fault), False when nobody was there; None: a script does it, or nothing is done
    undo: object = None
    armed: bool = False  # the client kills itself
    codes: frozenset = frozenset()  # what calls may return because of it
    init_codes: frozenset = frozenset()
    storage: bool = False  # steps may fail, if a call reports it
    server_dies: bool = False
    client_dies: bool = False
    server_leaves: bool = False  # and says what came too late
    can_start_with_it: bool = False
    holds: bool = False
    draw_rule: object = None  # draw_rule(rng)
    prepare: object = None
    dies_at_a_call: bool = False  # of the file system, wherever it comes: prepared before the start
    why_not: object = None  # of a fault: a sentence when it cannot be made here
    needs_empty_folder: bool = False  # the small disk's
    environment: object = None  # environment(runner, fault): more of it for the run's processes
    prefix: object = None  # prefix(runner, fault, who): words before the command of the server or the clients
    from_the_start: bool = False  # it is there before the run begins, and goes with it


def servers_of(runner, fault):
    """The server of the run; one of them, where MPI has started several."""
    pids = runner.servers()
    return [pids[fault.client % len(pids)]] if pids and runner.run.mode == "mpi" else pids


def kill_server(runner, fault):
    return runner.signal(servers_of(runner, fault), signal.SIGKILL)


def kill_server_and_start(runner, fault):
    """Another start, with stale="discard", while clients of the killed server live: they write on afterwards."""
    clients = runner.client_pids()
    if not runner.signal(clients, signal.SIGSTOP) or not kill_server(runner, fault):
        runner.signal(clients, signal.SIGCONT)
        return False
    runner.group.wait_until(lambda: not runner.servers(), 20, "a killed server does not end")
    left = runner.regions()
    xml = (runner.folder / "first.xml").read_text(encoding="ascii")
    (runner.folder / "again.xml").write_text(re.sub('stale="[a-z]+"', 'stale="discard"', xml), encoding="ascii")
    runner.start(["damaris-server", "again.xml"], "server")
    runner.group.wait_until(lambda: set(runner.regions()) - set(left) or not runner.servers(), 20, "the other start does not end")
    runner.signal(clients, signal.SIGCONT)
    return True


def stop_server(runner, fault):
    return runner.signal(servers_of(runner, fault), signal.SIGSTOP)


def continue_all(runner, _fault):
    runner.signal(runner.processes(), signal.SIGCONT)


def terminate_server(runner, fault):
    return runner.signal(servers_of(runner, fault), signal.SIGTERM)


def kill_clients(runner, _fault):
    return runner.signal(runner.client_pids(), signal.SIGKILL)


def kill_all(runner, fault):
    pids = runner.processes()
    return runner.signal(sorted(pids, reverse=fault.client % 2 == 0), signal.SIGKILL)


def kill_client(runner, fault):
    return runner.signal(runner.client_pid(fault.client), signal.SIGKILL)


def stop_client(runner, fault):
    return runner.signal(runner.client_pid(fault.client), signal.SIGSTOP)


def end_stopped_client(runner, fault):
    runner.signal(runner.client_pid(fault.client), signal.SIGKILL if fault.for_ever else signal.SIGCONT)


def take_folder_away(runner, _fault):
    os.rename(runner.out, runner.folder / "away")


def put_folder_back(runner, _fault):
    os.rename(runner.folder / "away", runner.out)


def forbid_folder(runner, _fault):
    os.chmod(runner.out, 0o555)


def allow_folder(runner, _fault):
    os.chmod(runner.out, 0o755)


def mount_small_disk(runner, _fault):
    runner.mount(runner.out, "size=8m,mode=700")


def fill_disk(runner, fault):
    """Leaves a few pages: where exactly it overflows is part of the draw."""
    left = int(fault.delay_s * 37e6) % 65536
    with open(runner.out / "ballast", "wb") as ballast, suppress(OSError):  # the run may be faster to take the rest
        room = os.statvfs(runner.out)
        os.posix_fallocate(ballast.fileno(), 0, max(4096, room.f_bavail * room.f_bsize - left))


def empty_disk(runner, _fault):
    (runner.out / "ballast").unlink(missing_ok=True)


def cannot_mount(_fault):
    return "" if os.geteuid() == 0 and shutil.which("mount") else "a small disk of its own needs root"


@cache
@cache
def is_bound_by_modes():
    """Root writes into every folder, unless it lays that right down."""
    return os.geteuid() != 0 or subprocess.run([*ordinary_user(), "true"], capture_output=True, timeout=20, check=False).returncode == 0


def cannot_forbid(_fault):
    return "" if is_bound_by_modes() else "root may write everywhere here"


def ordinary_user(*_):
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


# With a server or a client that is gone before all have attached: on which one comes upon which remains depends on the moment.
LOST_AT_START = frozenset({SERVER_LOST, TIMEOUT, STALE, IN_USE, SHM})
KINDS = [
    Kind("none", 1.0, ANY),
    Kind("client killed", 4.0, ANY, armed=True, client_dies=True, codes=frozenset({EARLIER_IO}), init_codes=LOST_AT_START),
    Kind("all clients killed", 1.5, ANY, act=kill_clients, client_dies=True, codes=frozenset({EARLIER_IO})),  # the last to be killed hears
    Kind("server killed", 4.0, ("detached", "mpi"), act=kill_server, server_dies=True, can_start_with_it=True,
         codes=frozenset({SERVER_LOST, EARLIER_IO}), init_codes=LOST_AT_START),
    Kind("server killed, another start", 1.5, DETACHED, act=kill_server_and_start, server_dies=True,
         codes=frozenset({SERVER_LOST, EARLIER_IO}), init_codes=LOST_AT_START),
    Kind("all killed", 2.0, ANY, act=kill_all, client_dies=True, server_dies=True, can_start_with_it=True,
         codes=frozenset({SERVER_LOST, EARLIER_IO}), init_codes=LOST_AT_START),
    Kind("recovery killed", 2.5, DETACHED, act=kill_server, server_dies=True, codes=frozenset({SERVER_LOST}),
         init_codes=LOST_AT_START),
    Kind("server stopped a while", 1.5, ("detached", "mpi"), act=stop_server, undo=continue_all, holds=True),
    Kind("server terminated", 2.5, ("detached", "mpi"), act=terminate_server, server_leaves=True, can_start_with_it=True,
         codes=frozenset({SERVER_LOST, EARLIER_IO}), init_codes=LOST_AT_START),
    Kind("client stopped", 1.0, DETACHED, act=stop_client, undo=end_stopped_client, holds=True, client_dies=True,
         codes=frozenset({EARLIER_IO, TIMEOUT}), init_codes=frozenset({TIMEOUT})),
    Kind("folder away", 1.0, ANY, act=take_folder_away, undo=put_folder_back, holds=True, storage=True,
         codes=frozenset({EARLIER_IO, IO}), init_codes=frozenset({NO_OUTPUT, IO})),
    Kind("folder read-only", 1.0, ANY, act=forbid_folder, undo=allow_folder, holds=True, storage=True,
         codes=frozenset({EARLIER_IO, IO}), init_codes=frozenset({NO_OUTPUT, IO}), why_not=cannot_forbid, prefix=ordinary_user),
    Kind("disk full", 1.5, ANY, act=fill_disk, undo=empty_disk, holds=True, storage=True,
         codes=frozenset({EARLIER_IO, IO}), init_codes=frozenset({NO_OUTPUT, IO}), prepare=mount_small_disk, why_not=cannot_mount, needs_empty_folder=True),
    Kind("disk fails", 2.0, ANY, act=set_rule, undo=no_rule, holds=True, storage=True, draw_rule=draw_failure,
         codes=frozenset({EARLIER_IO, IO}), init_codes=frozenset({NO_OUTPUT, IO}), environment=preload, why_not=cannot_preload),
    Kind("disk slow or hanging", 1.0, ANY, act=set_rule, undo=no_rule, holds=True, draw_rule=draw_delay,
         environment=preload, why_not=cannot_preload),
    Kind("killed at a disk call", 3.0, ("detached", "in-place"), prepare=set_rule, undo=no_rule, draw_rule=draw_death,
         dies_at_a_call=True, server_dies=True, client_dies=True, codes=frozenset({SERVER_LOST, EARLIER_IO}),
         init_codes=LOST_AT_START | {NO_OUTPUT}, environment=preload, why_not=cannot_preload),
    Kind("limit", 2.0, ("detached", "in-place"), draw_rule=draw_limit, prefix=limited, from_the_start=True, storage=True, server_dies=True,
         codes=frozenset({EARLIER_IO, IO, SHM, MEMORY, SERVER_LOST}), init_codes=LOST_AT_START | {NO_OUTPUT, IO, MEMORY, CONFIG, PLUGIN}),
]
FAULTS = {kind.name: kind for kind in KINDS}


# What comes second, on top of a fault that leaves the server alive.
SECOND = [
    replace(FAULTS["client killed"], armed=False, act=kill_client),
    *(FAULTS[name] for name in ("all clients killed", "server killed", "all killed", "server terminated")),
]


def draw_second(run, fault):
    """Mostly none. By its own numbers, so that a seed's first fault is the same with and without."""
    rng = random.Random(f"torture second {run.seed}")
    kind = fault.kind
    if kind.name == "none" or kind.server_dies or fault.at_start or run.mode != "detached" or rng.random() < 0.6:
        return
    fault.then = Fault(rng.choices(SECOND, (1, 1, 3, 1, 1))[0], client=rng.randrange(run.clients))
    fault.then.delay_s = rng.choice((0.0, 2 ** rng.uniform(-14, -2)))


def together(fault):
    """What the faults that were made explain."""
    first, then = fault.kind, fault.then.kind if fault.then and fault.then.made else None
    if then is None:
        return first
    both = {name: getattr(first, name) | getattr(then, name)
            for name in ("codes", "init_codes", "client_dies", "server_dies", "server_leaves", "storage", "holds")}
    return replace(first, name=f"{first.name}, {then.name}", **both)


def draw_fault(rng, run, kind):
    """The fault of a run, woven into the clients' scripts."""
    fault = Fault(kind, client=rng.randrange(run.clients))
    fault.delay_s = rng.choice((0.0, 2 ** rng.uniform(-16, -5)))
    fault.at_start = kind.can_start_with_it and run.mode == "detached" and run.started_by == "hand" and rng.random() < 0.12
    fault.rule = kind.draw_rule(rng) if kind.draw_rule else ""
    if fault.rule and run.files in SHARED:
        fault.rule = spare_mpi(fault.rule, chunked=any(v.reduce for v in run.variables))
    if kind.storage and is_built():  # both are built together
        run.retry_ms = rng.choice((0, 0, 50, 300))
    if kind.holds:
        fault.hold_s = 2 ** rng.uniform(-8, -1.5)
        fault.for_ever = kind.name != "server stopped a while" and rng.random() < 0.3 and not fault.rule.endswith("hang")
    if kind.name == "client stopped" and fault.for_ever:
        run.finalize_timeout_s = 0.5  # the others wait for it in vain
        for script in run.scripts["first"]:
            script[:] = [" ".join([*line.split()[:2], "20"]) if line.startswith("flush") else line for line in script]
    if kind.name == "recovery killed":
        run.recover = "command"
        fault.recovery_kills_s = [2 ** rng.uniform(-12, -4.5) for _ in range(rng.randint(1, 3))]
    if fault.at_start or kind.storage or (run.mode == "in-place" and kind.client_dies):
        run.recover = "next"  # a server that was never ready, a process in place, a lost folder: what they left, the next one takes away
    script = run.scripts["first"][fault.client]
    attached = 2 if run.mode == "in-place" else 1
    place = rng.randrange(attached, len(script)) if attached == 2 or rng.random() < 0.95 or not kind.armed else 0
    if fault.at_start or kind.from_the_start or kind.dies_at_a_call or kind.act is kill_server_and_start or (kind.armed and place == 0):
        run.attach_timeout_s = 2.0  # somebody waits for one that never comes
    if kind.armed:
        script.insert(place, f"arm {rng.choice((0, int(2 ** rng.uniform(0, 12))))}")
    elif kind.act and not fault.at_start:
        script.insert(place, "tell")
    draw_second(run, fault)
    return fault

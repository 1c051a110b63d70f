"""Makes the plan of a recording (MPIOR, sections 2.2 to 3).

An operation waits for its partners, then takes its *own cost*: its recorded end less the latest recorded begin of whom it waits for. All time
between operations is a compute gap.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from damaris.plan import File, Op, Plan, Process, joined
from damaris.store import Recording

RECORDER_NS = 80  # what the recorder adds to a call, between its end and the next begin; bench record measures it
BUFFER = 4096  # of a stream of the C library
EAGER = 4096  # bytes: the least that MPI libraries send before the receiver asks for it
FROM_ROOT = ("MPI_Bcast", "MPI_Scatter", "MPI_Scatterv")
TO_ROOT = ("MPI_Reduce", "MPI_Gather", "MPI_Gatherv")
IN_TURN = ("MPI_Scan", "MPI_Exscan")
SYNCHRONOUS = ("MPI_Ssend", "MPI_Issend")

CALLS = """
select c.id, c.process, c.thread, c."begin", c."end", c.layer, c.kind, c.function, case when o.kind = 'file' then c.object end as file, c.handle,
       c."offset" as place, c.bytes, c.peer, f.flags, c.flags & 1 as failed
from calls c left join objects o on o.id = c.object left join opens f on f.call = c.id
where c.layer in ('posix', 'stdio', 'mpi', 'mpiio') order by c.process, c.thread, c."begin", c."end" desc
"""


class Call(NamedTuple):
    id: int
    process: int
    thread: int
    begin: int
    end: int
    layer: str
    kind: str
    function: str
    file: int | None
    handle: int
    place: int | None
    bytes: int
    peer: int | None
    flags: int | None
    failed: int


def names_of(paths: list[str]) -> list[str]:
    """Relative ones: without the folder that all share."""
    folders = [str(PurePosixPath(path).parent) for path in paths if path.startswith("/")]
    shared = os.path.commonpath(folders) if len(folders) == len(paths) and folders else "/"
    return [path.removeprefix(shared).lstrip("/").replace("../", "_/") or "_" for path in paths]


def folders_of(names: dict[int, str]) -> set[int]:
    """Those that others are in: programs open folders, too, to sync them."""
    parents = {str(parent) for name in names.values() for parent in PurePosixPath(name).parents}
    return {number for number, name in names.items() if name in parents}


class Step(NamedTuple):
    """A call that is an operation; of a collective call on a file `enter` and `leave`, with its I/O between."""

    call: Call
    role: str  # io, mpi, enter, leave


def steps(calls: list[Call], layer: str, collectives: set[int]) -> Iterator[Step]:
    """Of one thread. Leaf I/O, and communication that no other call of MPI makes: with ROMIO that on files is seen inside."""
    covered = done = 0
    entered: Call | None = None
    for call in calls:
        if entered and call.begin >= entered.end:
            yield Step(entered, "leave")
            entered = None
        if call.layer in ("posix", "stdio"):
            if call.begin >= done and (layer == "posix" or call.begin >= covered):
                done = call.end
                yield from [Step(call, "io")] * (call.file is not None and not call.failed)
        elif call.begin >= covered:
            covered = call.end
            if call.layer == "mpi":
                yield Step(call, "mpi")
            elif layer == "mpiio":
                yield Step(call, "io")
            elif call.id in collectives:
                yield Step(call, "enter")
                entered = call
    if entered:
        yield Step(entered, "leave")


class Partners:
    """What calls send, and whom they wait for."""

    def __init__(self, recording: Recording, kept: set[int]):
        self.sends: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by call: messages and their bytes
        self.waits: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by call: messages and when their senders began
        self.met: dict[int, list[int]] = defaultdict(list)  # calls of each collective, by rank
        for instance, call in recording.query("select instance, call from collectives order by instance, rank").fetchall():
            self.met[instance].append(call)
        self.met = {instance: calls for instance, calls in self.met.items() if kept.issuperset(calls)}
        self.collective = {call: instance for instance, calls in self.met.items() for call in calls}
        self.place = {call: rank for calls in self.met.values() for rank, call in enumerate(calls)}
        self.number = max(self.met, default=0)
        self.add_messages(recording, kept)

    def add_messages(self, recording: Recording, kept: set[int]) -> None:
        rows = recording.query("""
            select m.send, m.recv, m.done, coalesce(w.id, s.id), m.bytes, s.function, s."begin", coalesce(w."end", s."end"), p."begin"
            from messages m join calls s on s.id = m.send join calls p on p.id = m.recv
            left join requests r on r.start = m.send left join calls w on w.id = r.done where m.done is not null order by m.send""").fetchall()
        # A send that was over before anybody had asked for its message needs no receiver; nor does a smaller one.
        eager = max([EAGER] + [size for *_, size, function, _, end, posted in rows if end < posted and function not in SYNCHRONOUS])
        for send, post, done, over, size, function, begin, _, posted in rows:
            if not kept.issuperset((send, post, done, over)):
                continue
            self.sends[send].append((self.next(), size))
            self.waits[done].append((self.number, begin))
            if function in SYNCHRONOUS or size > eager:  # as if the receiver sent a message when it is ready
                self.sends[post].append((self.next(), 0))
                self.waits[over].append((self.number, posted))

    def next(self) -> int:
        self.number += 1
        return self.number


class Streams:
    """Which writes to streams of the C library reach files: when the buffer is full, whole blocks are written."""

    def __init__(self):
        self.held: dict[tuple[int, int], tuple[int, int]] = {}  # offset and bytes, by process and handle

    def write(self, key: tuple[int, int], offset: int, count: int) -> tuple[int, int]:
        """What is written then: offset and bytes."""
        at, held = self.held.get(key, (offset, 0))
        if at + held != offset:
            self.held[key] = offset, count
            return at, held
        whole = (held + count) // BUFFER * BUFFER
        self.held[key] = at + whole, held + count - whole
        return at, whole

    def flush(self, key: tuple[int, int]) -> tuple[int, int]:
        at, held = self.held.pop(key, (0, 0))
        return at, held


class Files:
    """The files of a plan, numbered as they are met."""

    def __init__(self, names: dict[int, str], calls: list[Call]):
        self.names, self.numbers, self.files = names, {}, []
        self.streams = Streams()
        self.open: dict[tuple[int, int], int] = defaultdict(int)  # how often a process has opened a file
        for call in sorted(calls, key=lambda one: one.begin):
            self.see(call)

    def see(self, call: Call) -> None:
        """What a file holds when it is read, and nobody has written, it held before."""
        file = self.of(call)
        offset = call.place if call.place is not None else file.size
        if call.kind == "read":
            file.initial = max(file.initial, offset + call.bytes) if offset + call.bytes > file.size else file.initial
        elif call.kind == "write":
            file.size = max(file.size, offset + call.bytes)
        elif call.flags is not None and call.flags & os.O_TRUNC:
            file.size = 0

    def of(self, call: Call) -> File:
        if call.file not in self.numbers:
            self.numbers[call.file] = len(self.files)
            self.files.append(File(self.names[call.file]))
        return self.files[self.numbers[call.file]]

    def ops(self, call: Call, ns: int) -> Iterator[Op]:
        which, key = self.numbers[call.file], (call.process, call.handle)
        is_stream = call.layer == "stdio"
        held = self.streams.flush(key) if is_stream and call.kind in ("seek", "sync", "close") else (0, 0)
        if call.kind in ("read", "write") and not self.open[call.process, which]:  # it got it from its parent
            self.open[call.process, which] = 1
            yield Op("o", which, 0, words=self.words(which, os.O_RDWR))
        if held[1]:
            yield Op("w", which, ns, *held)
        match call.kind:
            case "open" if call.flags is not None or call.layer == "mpiio":
                self.open[call.process, which] += 1
                yield Op("o", which, ns, words=self.words(which, os.O_RDWR if call.flags is None else call.flags))
            case "close" if self.open[call.process, which]:
                self.open[call.process, which] -= 1
                yield Op("x", which, 0 if held[1] else ns)
            case "write":
                offset = call.place if call.place is not None else self.files[which].size
                at, count = self.streams.write(key, offset, call.bytes) if is_stream else (offset, call.bytes)
                yield Op("w", which, ns, at, count) if count else Op("c", 0, ns)
            case "read" if call.bytes:
                yield Op("r", which, ns, call.place or 0, call.bytes)
            case "sync" if not is_stream:
                yield Op("s", which, ns)
            case "metadata" if call.function in ("ftruncate", "MPI_File_set_size"):
                yield Op("t", which, ns, bytes=call.place or 0)
            case "metadata" if call.function in ("unlink", "unlinkat", "remove"):
                yield Op("u", which, ns)
            case "metadata":
                yield Op("m", which, ns)
            case _ if not held[1]:
                yield Op("c", 0, ns)

    def words(self, which: int, flags: int) -> str:
        access = {os.O_RDONLY: "r", os.O_WRONLY: "w"}.get(flags & os.O_ACCMODE, "rw")
        makes = flags & os.O_CREAT or not self.files[which].initial
        return access + ("c" if makes else "") + ("t" if flags & os.O_TRUNC else "")


class Writer:
    """Makes the plan of a recording."""

    def __init__(self, recording: Recording, layer: str, recorder_ns: int):
        self.layer, self.recorder_ns = layer, recorder_ns
        names = dict(recording.query("select id, name from objects where kind = 'file'").fetchall())
        folders = folders_of(names)
        calls = [Call(*row) for row in recording.query(CALLS).fetchall()]
        calls = [call._replace(file=None) if call.file in folders else call for call in calls] if folders else calls
        self.begin, self.end = min((call.begin for call in calls), default=0), max((call.end for call in calls), default=0)
        self.calls = {call.id: call for call in calls if call.layer in ("mpi", "mpiio")}
        met = {call for (call,) in recording.query("select call from collectives").fetchall()}
        by_thread: dict[tuple[int, int], list[Call]] = defaultdict(list)
        for call in calls:
            by_thread[call.process, call.thread].append(call)
        self.steps = {thread: list(steps(mine, layer, met)) for thread, mine in by_thread.items()}
        self.partners = Partners(recording, {step.call.id for mine in self.steps.values() for step in mine if step.call.id in self.calls})
        self.files = Files(names, [step.call for mine in self.steps.values() for step in mine if step.role == "io" and step.call.file is not None])
        self.about = {one: about for one, *about in recording.query("select id, rank, host, pid from processes").fetchall()}
        self.inside = self.io_inside()
        self.members: dict[int, dict[int, int]] = defaultdict(dict)  # by collective: process of each call
        self.leaving: dict[int, int] = {}  # numbers of collectives that also wait at their end
        for instance in self.partners.met:
            if self.waits_at_end(instance):
                self.leaving[instance] = self.partners.next()

    def io_inside(self) -> dict[int, tuple[int, int]]:
        """Begin of the first and end of the last I/O inside collective calls on files."""
        found: dict[int, tuple[int, int]] = {}
        for mine in self.steps.values():
            around = None
            for step in mine:
                if step.role in ("enter", "leave"):
                    around = step.call.id if step.role == "enter" else None
                elif around is not None:
                    found[around] = found.get(around, (step.call.begin, 0))[0], step.call.end
        return found

    def waits_at_end(self, instance: int) -> bool:
        """Nobody left such a call before the last I/O in it had ended."""
        calls = self.partners.met[instance]
        last = max((self.inside[call][1] for call in calls if call in self.inside), default=None)
        return last is not None and all(self.calls[call].end >= last for call in calls)

    def plan(self) -> Plan:
        processes = []
        for process, thread in sorted(self.steps, key=lambda one: (self.about[one[0]][0] is None, self.about[one[0]][0], *one)):
            if not (mine := self.steps[process, thread]):
                continue
            rank, host, pid = self.about[process]
            about = ("" if rank is None else f"rank {rank} ") + f"host {host} pid {pid}" + (f" thread {thread}" if thread else "")
            processes.append(Process(about, joined(self.ops(mine, len(processes)))))
        files = [File(name, file.initial) for file, name in zip(self.files.files, names_of([file.name for file in self.files.files]), strict=True)]
        collectives = {number: [members[call] for call in sorted(members, key=self.partners.place.__getitem__)] for number, members in self.members.items()}
        return Plan(self.layer, self.end - self.begin, files, processes, collectives)

    def ops(self, mine: list[Step], process: int) -> Iterator[Op]:
        clock = self.begin
        for call, role in mine:
            if role == "leave":
                clock = yield from self.leave(call, process, clock)
                continue
            yield Op("c", 0, max(call.begin - clock - self.recorder_ns, 0))
            if role == "enter":
                clock = self.entered(call)
                yield self.together(call, process, "a", clock - self.ready(call))
                continue
            if role == "io" and call.id in self.partners.collective:
                yield self.together(call, process, "a", 0)
            if role == "io":
                yield from self.files.ops(call, call.end - self.ready(call))
            else:
                yield from self.meet(call, process)
            clock = call.end

    def ready(self, call: Call) -> int:
        """When the last of whom it waits for, and itself, had begun."""
        begins = [begin for _, begin in self.partners.waits.get(call.id, ())]
        if call.id in self.partners.collective:
            calls = self.partners.met[self.partners.collective[call.id]]
            kind = kind_of(call)
            waited = {"f": [one for one in calls if self.is_root(one)], "e": calls if self.is_root(call.id) else [], "q": calls[: self.partners.place[call.id]]}
            begins += [self.calls[one].begin for one in waited.get(kind, calls)]
        return max(call.begin, *begins) if begins else call.begin

    def is_root(self, call: int) -> bool:
        return self.partners.place[call] == self.calls[call].peer

    def meet(self, call: Call, process: int) -> Iterator[Op]:
        cost = call.end - self.ready(call)
        for message, size in self.partners.sends.get(call.id, ()):
            yield Op("p", message, 0, bytes=size)
        if call.id in self.partners.collective:
            yield self.together(call, process, kind_of(call), cost)
        elif waits := self.partners.waits.get(call.id):
            yield from (Op("g", message) for message, _ in waits[:-1])
            yield Op("g", waits[-1][0], cost)
        else:
            yield Op("c", 0, cost)

    def together(self, call: Call, process: int, kind: str, cost: int, number: int | None = None) -> Op:
        number = self.partners.collective[call.id] if number is None else number
        self.members[number][call.id] = process
        return Op(kind, number, max(cost, 0), words="root" if kind in "fe" and self.is_root(call.id) else "")

    def entered(self, call: Call) -> int:
        """When a collective call on a file begins its own I/O; one that has none takes its time at once, or waits for the others'."""
        if call.id in self.inside:
            return max(self.inside[call.id][0], self.ready(call))
        return self.ready(call) if self.partners.collective[call.id] in self.leaving else call.end

    def leave(self, call: Call, process: int, clock: int):
        instance = self.partners.collective[call.id]
        if instance not in self.leaving:
            return clock
        last = max(self.inside[one][1] if one in self.inside else self.entered(self.calls[one]) for one in self.partners.met[instance])
        yield self.together(call, process, "b", call.end - max(last, clock), self.leaving[instance])
        return call.end


def kind_of(call: Call) -> str:
    kinds = {"MPI_Barrier": "b"} | dict.fromkeys(FROM_ROOT, "f") | dict.fromkeys(TO_ROOT, "e") | dict.fromkeys(IN_TURN, "q")
    return kinds.get(call.function, "a")


def plan_of(recording: Recording, layer: str = "posix", recorder_ns: int = RECORDER_NS) -> Plan:
    """`layer`: posix, what reaches files, or mpiio, what the program asked of MPI. `recorder_ns`: what is taken out of the gap before each call."""
    return Writer(recording, layer, recorder_ns).plan()

"""Makes the plan of a recording (MPIOR, sections 2.2 to 3).

An operation waits for its partners, then takes its *own cost*: its recorded end less the latest recorded begin of whom it waits for. All time
between operations is a compute gap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from damaris.plan import File, Op, Plan, Process, joined
from damaris.plan_files import Files, folders_of, names_of
from damaris.store import Recording

RECORDER_NS = 80  # what the recorder adds to a call, between its end and the next begin; bench record measures it
EAGER = 4096  # bytes: the least that MPI libraries send before the receiver asks for it
FROM_ROOT = ("MPI_Bcast", "MPI_Scatter", "MPI_Scatterv")
TO_ROOT = ("MPI_Reduce", "MPI_Gather", "MPI_Gatherv")
IN_TURN = ("MPI_Scan", "MPI_Exscan")
ALONE = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")  # meetings of one process: their time is none of computing, and waits for nobody
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
        self.rank: dict[int, int] = {}
        for instance, call, rank in recording.query("select instance, call, rank from collectives order by instance, rank").fetchall():
            self.met[instance].append(call)
            self.rank[call] = rank
        self.met = {instance: calls for instance, calls in self.met.items() if kept.issuperset(calls)}
        self.collective = {call: instance for instance, calls in self.met.items() for call in calls}
        self.number = max(self.met, default=0)
        self.add_messages(recording, kept)

    def add_messages(self, recording: Recording, kept: set[int]) -> None:
        rows = recording.query("""
            select m.send, m.recv, m.done, coalesce(w.id, s.id), m.bytes, s.function, s."begin", coalesce(w."end", s."end"), p."begin", d."end"
            from messages m join calls s on s.id = m.send join calls p on p.id = m.recv
            join calls d on d.id = m.done left join requests r on r.start = m.send left join calls w on w.id = r.done order by m.send""").fetchall()
        # A send that was over before anybody had asked for its message needs no receiver; nor does a smaller one.
        eager = max([EAGER] + [size for *_, size, function, _, end, posted, _ in rows if end < posted and function not in SYNCHRONOUS])
        for send, post, done, over, size, function, begin, ended, posted, received in rows:
            # Clocks of hosts differ: nobody waited for what was sent later.
            if not kept.issuperset((send, post, done, over)) or begin > received:
                continue
            self.sends[send].append((self.next(), size))
            self.waits[done].append((self.number, begin))
            if (function in SYNCHRONOUS or size > eager) and posted <= ended:  # as if the receiver sent a message when it is ready
                self.sends[post].append((self.next(), 0))
                self.waits[over].append((self.number, posted))

    def next(self) -> int:
        self.number += 1
        return self.number


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
        for instance in [one for one, mine in self.partners.met.items() if not self.waits(mine)]:
            for call in self.partners.met.pop(instance):
                del self.partners.collective[call]
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

    def waits(self, calls: list[int]) -> bool:
        """Whether all in it may have waited as its kind says: its root is there, and nobody was done, or did I/O inside, before the others came."""
        if kind_of(self.calls[calls[0]]) in "fe" and not any(self.is_root(call) for call in calls):
            return False
        return all(min(self.calls[call].end, self.inside.get(call, (self.calls[call].end,))[0]) >= self.ready(self.calls[call]) for call in calls)

    def waits_at_end(self, instance: int) -> bool:
        """Nobody left such a call before the last I/O in it had ended."""
        calls = self.partners.met[instance]
        last = max((self.inside[call][1] for call in calls if call in self.inside), default=None)
        return last is not None and all(self.calls[call].end >= last for call in calls)

    def plan(self) -> Plan:
        processes = []
        threads = sorted((one for one in self.steps if self.steps[one]), key=lambda one: (self.about[one[0]][0] is None, self.about[one[0]][0], *one))
        last = dict(threads)  # thread of each process
        for process, thread in threads:
            mine = self.steps[process, thread]
            rank, host, pid = self.about[process]
            about = ("" if rank is None else f"rank {rank} ") + f"host {host} pid {pid}" + (f" thread {thread}" if thread else "")
            processes.append(Process(about, joined(self.ops(mine, len(processes), last[process] == thread))))
        files = [File(name, file.initial) for file, name in zip(self.files.files, names_of([file.name for file in self.files.files]), strict=True)]
        collectives = {number: [members[call] for call in sorted(members, key=self.partners.rank.__getitem__)] for number, members in self.members.items()}
        return Plan(self.layer, self.end - self.begin, files, processes, collectives)

    def ops(self, mine: list[Step], process: int, is_last: bool) -> Iterator[Op]:
        """`is_last`: the process has no further thread."""
        clock = self.begin
        for step in mine:
            made, clock = self.ops_of(step, process, clock)
            for op in made:
                op.call, op.ns = step.call.id, max(op.ns, 0)
            yield from made
        if is_last:
            yield from self.files.left(mine[0].call.process, mine[0].call.thread)

    def ops_of(self, step: Step, process: int, clock: int) -> tuple[list[Op], int]:
        """Of a step, with the gap before it, and when it ends; `clock`: the end of the step before."""
        call, role = step
        if role in ("enter", "leave") and call.id not in self.partners.collective:
            return [], clock
        if role == "leave":
            return self.leave(call, process, clock)
        made = [Op("c", 0, max(call.begin - clock - self.recorder_ns, 0))]
        if role == "enter":
            clock = self.entered(call)
            return [*made, self.together(call, process, "a", clock - self.ready(call))], clock
        if role == "mpi":
            made += self.meet(call, process)
        else:
            if call.id in self.partners.collective:
                made.append(self.together(call, process, "a", 0))
            made += self.files.ops(call, call.end - self.ready(call))
        return made, call.end

    def ready(self, call: Call) -> int:
        """When the last of whom it waits for, and itself, had begun."""
        begins = [begin for _, begin in self.partners.waits.get(call.id, ())]
        if call.id in self.partners.collective:
            calls = self.partners.met[self.partners.collective[call.id]]
            kind = kind_of(call)
            waited = {"f": [one for one in calls if self.is_root(one)], "e": calls if self.is_root(call.id) else [], "q": calls[: calls.index(call.id)]}
            begins += [self.calls[one].begin for one in waited.get(kind, calls)]
        return max(call.begin, *begins) if begins else call.begin

    def is_root(self, call: int) -> bool:
        return self.partners.rank[call] == self.calls[call].peer

    def meet(self, call: Call, process: int) -> Iterator[Op]:
        cost = call.end - self.ready(call)
        for message, size in self.partners.sends.get(call.id, ()):
            yield Op("p", message, 0, bytes=size)
        if call.id in self.partners.collective:
            yield self.together(call, process, kind_of(call), cost)
        elif waits := self.partners.waits.get(call.id):
            yield from (Op("g", message) for message, _ in waits[:-1])
            yield Op("g", waits[-1][0], cost)
        elif call.function in ALONE:
            self.partners.rank[call.id] = 0
            yield self.together(call, process, "b", cost, self.partners.next())
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

    def leave(self, call: Call, process: int, clock: int) -> tuple[list[Op], int]:
        instance = self.partners.collective[call.id]
        if instance not in self.leaving:
            return [], clock
        last = max(self.inside[one][1] if one in self.inside else self.entered(self.calls[one]) for one in self.partners.met[instance])
        return [self.together(call, process, "b", call.end - max(last, clock), self.leaving[instance])], call.end


def kind_of(call: Call) -> str:
    kinds = {"MPI_Barrier": "b"} | dict.fromkeys(FROM_ROOT, "f") | dict.fromkeys(TO_ROOT, "e") | dict.fromkeys(IN_TURN, "q")
    return kinds.get(call.function, "a")


def plan_of(recording: Recording, layer: str = "posix", recorder_ns: int = RECORDER_NS) -> Plan:
    """`layer`: posix, what reaches files, or mpiio, what the program asked of MPI. `recorder_ns`: what is taken out of the gap before each call."""
    return Writer(recording, layer, recorder_ns).plan()

"""What costs a program time in MPI, by rules over the plan of its recording: each tries a change in virtual time, and promises what that gains.

The patterns are those of the FLASH study (Knuepfer et al., sections 2.1 to 2.3). Whether a change keeps the program right is for its author to judge.
"""

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property
from itertools import groupby

from damaris.case import Case
from damaris.errors import Refused
from damaris.plan import Op, Plan, joined
from damaris.planning import plan_of
from damaris.replay import Evaluated, evaluate
from damaris.verbs.text import many

SENDRECV = ("MPI_Sendrecv", "MPI_Sendrecv_replace")
RUN = 3  # so many calls in succession
SMALL = 1024  # bytes of an Allreduce
PAUSE_NS = 50_000  # a longer gap ends a run
MOST_CALLS = 200_000  # of MPI; of more, the rules would take minutes
MOST_PLANNED = 500_000  # with those that reach files, which take a plan's memory, too
IMBALANCE = 0.1  # of the longest computation, beyond the mean one
CULPRIT = 0.6  # of the waiting for late senders, by one of them


class Talk:
    """A recording's plan, and what changes of it would take."""

    def __init__(self, run):
        self.run = run

    @cached_property
    def is_there(self) -> bool:
        return self.has_partners and not self.left_out

    @cached_property
    def has_partners(self) -> bool:
        return self.count("messages") + self.count("collectives") > 0

    @cached_property
    def left_out(self) -> str:
        """Why the rules were not tried; empty if they were, or there is no communication."""
        if not self.has_partners:
            return ""
        for layers, words, most in (("'mpi', 'mpiio'", "calls of MPI", MOST_CALLS), ("'mpi', 'mpiio', 'posix', 'stdio'", "calls of MPI and on files", MOST_PLANNED)):
            calls = self.count(f"calls where layer in ({layers})")
            if calls > most:
                return f"Communication was not looked at: of {calls:,} {words} its rules would take minutes; they are for up to {most:,}."
        try:
            self.before  # noqa: B018
        except Refused as error:
            return f"Communication was not looked at: {error}."
        return ""

    def count(self, what: str) -> int:
        return self.run.query(f"select count(*) from {what}").fetchall()[0][0]

    @cached_property
    def plan(self) -> Plan:
        return plan_of(self.run)

    @cached_property
    def before(self) -> Evaluated:
        return evaluated(self.plan)

    @cached_property
    def function(self) -> dict[int, tuple[str, int, int]]:
        """Function, bytes and process of each call of MPI."""
        return {one: rest for one, *rest in self.run.query("select id, function, bytes, process from calls where layer = 'mpi'").fetchall()}

    def name(self, op: Op) -> str:
        return self.function[op.call][0] if op.kind in "pgabefq" and op.call in self.function else ""

    def process(self, ops: list[Op]) -> int | None:
        return next((self.function[op.call][2] for op in ops if op.call in self.function), None)

    @cached_property
    def talking(self) -> dict[int, int]:
        """The threads of the plan that call MPI, by number, with their processes: not helpers that only write, nor mpirun."""
        found = ((number, self.process(process.ops)) for number, process in enumerate(self.plan.processes))
        return {number: process for number, process in found if process is not None}

    @cached_property
    def servers(self) -> set[int]:
        """Processes that are Damaris's: what they store is not their own."""
        found = self.run.query("select process from calls where layer in ('server', 'damaris') group by process having count(*) filter (layer = 'damaris') = 0")
        return {process for (process,) in found.fetchall()}

    @cached_property
    def processes(self) -> list[int]:
        return sorted(set(self.talking.values()))

    def gain(self, *changes: Callable[["Talk", Plan], None]) -> float:
        """Seconds of all processes that talk together, by which the program ends earlier."""
        plan = deepcopy(self.plan)
        for change in changes:
            change(self, plan)
        return (self.before.total - evaluated(plan).total) / 1e9 * len(self.processes)

    def waits(self) -> Iterator[tuple[Op, int]]:
        """Each operation with ns of waiting."""
        ops = (op for process in self.plan.processes for op in process.ops)
        return zip(ops, self.before.waits.tolist(), strict=True)


def evaluated(plan: Plan) -> Evaluated:
    plan.write(text := io.StringIO())
    return evaluate(text.getvalue())


def runs(talk: Talk, ops: list[Op], is_part: Callable[[Op], bool]) -> Iterator[range]:
    """Where operations that are part of a pattern follow each other, with no more than short gaps between them: at least RUN calls."""
    begin = end = None
    calls: set[int] = set()
    for at, op in enumerate([*ops, Op("w")]):
        if is_part(op):
            begin, end = at if begin is None else begin, at + 1
            calls.add(op.call)
        elif begin is not None and not (op.kind == "c" and op.ns < PAUSE_NS):
            if len(calls) >= RUN:
                yield range(begin, end)
            begin, calls = None, set()


def chains(talk: Talk, ops: list[Op]) -> list[range]:
    return list(runs(talk, ops, lambda op: talk.name(op) in SENDRECV))


def without_chains(talk: Talk, plan: Plan) -> None:
    """As with MPI_Isend, MPI_Irecv and one MPI_Waitall: all is sent before anybody waits."""
    for process in plan.processes:
        for one in chains(talk, process.ops):
            part = [process.ops[at] for at in one]
            process.ops[one.start : one.stop] = sorted(part, key=lambda op: {"p": 0, "c": 1}.get(op.kind, 2))
        process.ops = joined(process.ops)


def allreduces(talk: Talk, plan: Plan) -> set[int]:
    """Those behind which another one of the same run follows, in all of their members."""
    count: Counter[int] = Counter()
    for process in plan.processes:
        for one in runs(talk, process.ops, lambda op: talk.name(op) == "MPI_Allreduce" and talk.function[op.call][1] <= SMALL):
            count.update([process.ops[at].which for at in one if process.ops[at].kind == "a"][:-1])
    return {which for which, members in count.items() if members == len(plan.collectives[which])}


def without(plan: Plan, which: set[int]) -> None:
    for process in plan.processes:
        process.ops = joined(op for op in process.ops if op.kind not in "abefq" or op.which not in which)
    for number in which:
        plan.collectives.pop(number, None)


def without_allreduces(talk: Talk, plan: Plan) -> None:
    without(plan, allreduces(talk, plan))


def barriers(talk: Talk, plan: Plan) -> set[int]:
    return {op.which for process in plan.processes for op in process.ops if talk.name(op) == "MPI_Barrier"}


def without_barriers(talk: Talk, plan: Plan) -> None:
    without(plan, barriers(talk, plan))


def sending_early(culprit: int, plan: Plan) -> None:
    """It sends before the computation that now comes before."""
    process = plan.processes[culprit]
    parts = groupby(process.ops, lambda op: op.kind in "pc")
    process.ops = [op for is_free, ops in parts for op in (sorted(ops, key=lambda op: op.kind, reverse=True) if is_free else ops)]


def computing(talk: Talk, plan: Plan) -> dict[int, int]:
    """ns of each thread that computes and talks: of a process one; Damaris's servers are there to wait."""
    longest: dict[int, tuple[int, int]] = {}
    for number, process in talk.talking.items():
        if process not in talk.servers:
            ns = sum(op.ns for op in plan.processes[number].ops if op.kind == "c")
            longest[process] = max(longest.get(process, (-1, 0)), (ns, number))
    return {number: ns for ns, number in longest.values()}


def balanced(talk: Talk, plan: Plan) -> None:
    """All compute as long."""
    ns = computing(talk, plan)
    mean = sum(ns.values()) / len(ns)
    for number, mine in ns.items():
        for op in plan.processes[number].ops:
            op.ns = round(op.ns * mean / mine) if op.kind == "c" and mine else op.ns


def chained(talk: Talk) -> Iterator[Case]:
    found = [one for process in talk.plan.processes for one in chains(talk, process.ops)]
    if found:
        count = sum(1 for one in talk.function.values() if one[0] in SENDRECV)
        yield Case(talk.gain(without_chains), talk.processes, f"{many(count, 'call')} of {' and '.join(SENDRECV)} in {many(len(found), 'run')}, in which each waits for the one before, and so "
                   "passes on delays to its neighbours", calls_of(SENDRECV))  # fmt: skip


def small_sums(talk: Talk) -> Iterator[Case]:
    if found := allreduces(talk, talk.plan):
        yield Case(talk.gain(without_allreduces), talk.processes, f"{len(found):,} of the calls of MPI_Allreduce, of up to {SMALL:,} bytes each, have another one right behind",
                   calls_of(("MPI_Allreduce",)))  # fmt: skip


def needless_barriers(talk: Talk) -> Iterator[Case]:
    if found := barriers(talk, talk.plan):
        alone, both = talk.gain(without_barriers), talk.gain(without_barriers, without_chains)
        more = f"; with the chains of MPI_Sendrecv dissolved, too, {both:.3g} s" if both > 1.1 * alone and both > 0 else ""
        yield Case(alone, talk.processes, f"without {many(len(found), 'barrier')} the program's processes would be done {alone:.3g} s earlier, in sum{more}", calls_of(("MPI_Barrier",)))


def late_senders(talk: Talk) -> Iterator[Case]:
    senders = {op.which: number for number, process in enumerate(talk.plan.processes) for op in process.ops if op.kind == "p"}
    late: dict[int, int] = defaultdict(int)
    for op, wait in talk.waits():
        if op.kind == "g":
            late[senders[op.which]] += wait
    if len(talk.processes) > 2 and (total := sum(late.values())):
        culprit, ns = max(late.items(), key=lambda one: one[1])
        if ns > CULPRIT * total:
            process = talk.talking[culprit]
            seconds = min(ns / 1e9, talk.gain(lambda _, plan: sending_early(culprit, plan)))
            yield Case(seconds, [process], f"others waited {ns / 1e9:.3g} s for messages that process {process} sent late, {100 * ns / total:.0f} % of all waiting for senders",
                       f"select c.* from messages m join calls c on c.id = m.done where m.source = {process} order by c.\"end\" - c.\"begin\" desc")  # fmt: skip


def imbalance(talk: Talk) -> Iterator[Case]:
    ns = computing(talk, talk.plan)
    busiest = max(ns, key=ns.__getitem__, default=None)
    if busiest is not None and ns[busiest] - (mean := sum(ns.values()) / len(ns)) > IMBALANCE * ns[busiest]:
        yield Case(talk.gain(balanced), talk.processes, f"process {talk.talking[busiest]} computes {ns[busiest] / 1e9:.3g} s, the mean is {mean / 1e9:.3g} s: the others wait",
                   "select process, sum(\"end\" - \"begin\") / 1e9 as seconds from calls where layer = 'mpi' and top group by all order by 2")  # fmt: skip


def calls_of(functions: tuple[str, ...]) -> str:
    names = ", ".join(f"'{one}'" for one in functions)
    return f"select * from calls where function in ({names}) order by \"end\" - \"begin\" desc"


RULES = {
    "C1": ("chains of MPI_Sendrecv", chained, "start all exchanges of a phase by MPI_Irecv and MPI_Isend, and wait once by MPI_Waitall, if none needs what another one brings"),
    "C2": ("runs of small sums", small_sums, "sum several values up in one MPI_Allreduce"),
    "C3": ("barriers that nobody needs", needless_barriers, "leave them out where they only keep processes in step; messages and collective calls order what depends on them"),
    "C4": ("a late sender", late_senders, "send as soon as the data is there, or give that process less to compute before it"),
    "C5": ("load imbalance", imbalance, "divide the work evenly, or by measured time"),
}  # fmt: skip

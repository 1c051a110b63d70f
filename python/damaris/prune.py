"""Leaves out of a plan the synchronisation that cannot pass on a delay of I/O.

The rule: processes are *in step* from an all-to-all operation that is kept until one of them does I/O, or waits in another kept operation. Who
waits in an operation only for processes in step with him does not need it: whatever the I/O takes, both come as much later. The time that he
waited is then a part of his gap. (MPIOR's own rule, section 2.3, asks less, and changes totals: docs/replay.md.)
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import count

from damaris.errors import Refused
from damaris.plan import Op, Plan, joined

IO = "orwstumx"


@dataclass
class Meeting:
    """A collective operation, or a message from the first to the second of its members."""

    members: list[int]  # processes, by rank
    came: dict[int, tuple[int, int]] = field(default_factory=dict)  # by process: when, and in which group
    root: int | None = None
    needed_by: set[int] = field(default_factory=set)  # who waits for somebody that is not in step with it

    def waits_for(self, process: int, kind: str) -> list[int]:
        match kind:
            case "g":
                return self.members[:1]
            case "f":
                return [] if process == self.root else [self.root] if self.root is not None else self.members
            case "e":
                return self.members if process == self.root else []
            case "q":
                return self.members[: self.members.index(process)]
        return self.members

    def keeps(self, process: int, kind: str) -> bool:
        """Whether it stays an operation of this process; from one to all, of the root and those who need it."""
        return bool(self.needed_by) and (kind != "f" or process == self.root or process in self.needed_by)


class Pruning:
    """Runs a plan in virtual time, and decides on each operation when all that somebody in it waits for have come."""

    def __init__(self, plan: Plan):
        self.processes, self.groups = plan.processes, count()
        size = len(plan.processes)
        self.at, self.clock, self.group = [0] * size, [0] * size, [next(self.groups) for _ in range(size)]
        self.collectives = {number: Meeting(members) for number, members in plan.collectives.items()}
        ends: dict[int, dict[str, int]] = defaultdict(dict)
        for number, process in enumerate(plan.processes):
            for op in process.ops:
                if op.kind in "pg":
                    ends[op.which][op.kind] = number
        self.messages = {which: Meeting([both.get("p", -1), both.get("g", -1)]) for which, both in ends.items()}
        self.ops: list[list[tuple[Op, int]]] = [[] for _ in plan.processes]  # each with the time that it took, its wait included

    def meeting(self, op: Op) -> Meeting:
        return (self.messages if op.kind in "pg" else self.collectives)[op.which]

    def run(self) -> None:
        ready, asleep = deque(range(len(self.processes))), set()
        while ready:
            process = ready.popleft()
            asleep.discard(process)
            woken = self.advance(process)
            if self.at[process] < len(self.processes[process].ops):
                asleep.add(process)
            ready.extend(woken & asleep)
            asleep -= woken
        if asleep:
            process = min(asleep)
            line = self.processes[process].ops[self.at[process]].line()
            raise Refused(f"process {process} waits forever in '{line}'; 'damaris replay PLAN --evaluate' names who does not come")

    def advance(self, process: int) -> set[int]:
        """Up to an operation whose partners have not come; returns who may go on."""
        woken: set[int] = set()
        ops = self.processes[process].ops
        while self.at[process] < len(ops):
            op, begin = ops[self.at[process]], self.clock[process]
            if op.kind in IO:
                self.group[process] = next(self.groups)
            if op.kind == "c" or op.kind in IO:
                self.clock[process] += op.ns
            elif not self.meet(process, op, woken):
                break
            self.ops[process].append((op, self.clock[process] - begin))
            self.at[process] += 1
        return woken

    def meet(self, process: int, op: Op, woken: set[int]) -> bool:
        """False: it waits."""
        meeting = self.meeting(op)
        if process not in meeting.came:
            meeting.came[process] = self.clock[process] + (op.ns if op.kind == "p" else 0), self.group[process]
            meeting.root = process if op.words else meeting.root
            woken |= set(meeting.members) - {process}
        waits = meeting.waits_for(process, op.kind) if op.kind != "p" else []
        if any(one not in meeting.came for one in waits):
            return False
        if any(meeting.came[one][1] != meeting.came[process][1] for one in waits):
            self.need(meeting, process, op.kind)
        self.clock[process] = max([self.clock[process]] + [meeting.came[one][0] for one in waits]) + op.ns
        return True

    def need(self, meeting: Meeting, process: int, kind: str) -> None:
        if kind not in "ab":
            self.group[process] = next(self.groups)
        elif not meeting.needed_by:
            shared = next(self.groups)
            for one in meeting.members:
                self.group[one] = shared
        meeting.needed_by.add(process)

    def result(self, process: int) -> list[Op]:
        return joined(op if op.kind == "c" or op.kind in IO or self.meeting(op).keeps(process, op.kind) else Op("c", 0, ns) for op, ns in self.ops[process])


def prune(plan: Plan) -> None:
    """Changes the plan. Raises Refused if an operation in it waits forever."""
    pruning = Pruning(plan)
    pruning.run()
    kinds = {op.which: op.kind for process in plan.processes for op in process.ops if op.kind in "abefq"}
    for number, process in enumerate(plan.processes):
        process.ops = pruning.result(number)
    kept = {number: [one for one in members if pruning.collectives[number].keeps(one, kinds[number])] for number, members in plan.collectives.items()}
    plan.collectives = {number: members for number, members in kept.items() if members}

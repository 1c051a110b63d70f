"""What `--prune` leaves out changes no total, whatever the I/O takes: random programs against a slow evaluator."""

import io
import os
import random

import pytest
from plans import run

from damaris.errors import Refused
from damaris.plan import File, Op, Plan, Process
from damaris.prune import prune

PROGRAMS = int(os.environ.get("DAMARIS_RANDOM_PROGRAMS", "1000"))


def text(plan):
    plan.write(out := io.StringIO())
    return out.getvalue()


def plan_of(*processes, **collectives):
    """Each process a text of operations, such as "w c5 p1 g2 a3"; collectives as c3=[0, 1]."""
    members = {int(name[1:]): ranks for name, ranks in collectives.items()}
    made = []
    for words in processes:
        ops = []
        for word in words.split():
            kind, number = word[0], int(word[1:].rstrip("*") or 0)
            is_io = kind in "wr"
            ops.append(Op(kind, 0 if is_io or kind == "c" else number, number if kind == "c" else 10, 0, 4096, "root" if word.endswith("*") else ""))
        made.append(Process("", ops))
    return Plan("posix", 0, [File("f")], made, members)


def kept(plan):
    return sorted({(op.kind, op.which) for process in plan.processes for op in process.ops if op.kind in "gabefq"})


def ends(plan, delays):
    """When the processes end if the k-th I/O of a process takes longer; left-out operations move no I/O."""
    seen = {}
    io_of = [[i for i, op in enumerate(process.ops) if op.kind in "wr"] for process in plan.processes]
    order = {(process, at): k for process, ats in enumerate(io_of) for k, at in enumerate(ats)}
    return run(text(plan), lambda process, at: seen.setdefault((process, order[process, at]), delays[process, order[process, at]]))[0]


class Program:
    """Random, without a deadlock: operations are drawn one after the other, each for all who take part."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.size = draw.randint(2, 5)
        ops = [[] for _ in range(self.size)]
        members = {}
        for number in range(1, draw.randint(4, 25)):
            for process in ops:
                if draw.random() < 0.5:
                    process.append(Op("c", 0, draw.randint(1, 50)))
            kind = draw.choice("wwppppabbefq" if draw.random() < 0.7 else "wp")
            if kind == "w":
                ops[draw.randrange(self.size)].append(Op("w", 0, draw.randint(1, 100), 0, 1))
            elif kind == "p":
                source, target = draw.sample(range(self.size), 2)
                ops[source].append(Op("p", number, draw.randint(0, 5), bytes=1))
                ops[target].append(Op("g", number, draw.randint(0, 5)))
            else:
                who = draw.sample(range(self.size), draw.choice([self.size, self.size, draw.randint(2, self.size)]))
                members[number], root = who, draw.choice(who)
                for one in who:
                    ops[one].append(Op(kind, number, draw.randint(0, 5), words="root" if kind in "ef" and one == root else ""))
        self.plan = Plan("posix", 0, [File("f")], [Process("", one) for one in ops], members)
        count = [sum(op.kind == "w" for op in one) for one in ops]
        self.delays = [{(p, k): draw.choice([0, 0, draw.randint(0, 500)]) for p in range(self.size) for k in range(count[p])} for _ in range(3)]
        self.delays.append({key: 0 for key in self.delays[0]})


@pytest.mark.parametrize("first", range(0, PROGRAMS, 1000))
def test_random_programs_end_when_they_did(first):
    dropped = 0
    for seed in range(first, min(first + 1000, PROGRAMS)):
        program = Program(seed)
        before = [ends(program.plan, delays) for delays in program.delays]
        count = len(kept(program.plan))
        prune(program.plan)
        dropped += count - len(kept(program.plan))
        assert [ends(program.plan, delays) for delays in program.delays] == before, f"seed {seed}"
    assert dropped > 100


def begins(plan, delays):
    """As ends, of each operation of each process; of one that is not delayed, too."""
    io_of = [[i for i, op in enumerate(process.ops) if op.kind in "wr"] for process in plan.processes]
    order = {(process, at): k for process, ats in enumerate(io_of) for k, at in enumerate(ats)}
    return run(text(plan), lambda process, at: delays.get((process, order[process, at]), 0))[1]


def test_figure_1_3_of_mpior_a_delay_reaches_a_third_node_through_a_second():
    plan = plan_of("w p1", "c5 g1 p2", "c5 g2 w")
    later = [b - a for a, b in zip(begins(plan, {})[2], begins(plan, {(0, 0): 1000})[2])]
    prune(plan)
    assert kept(plan) == [("g", 1), ("g", 2)] and later == [0, 0, 1000]
    assert [b - a for a, b in zip(begins(plan, {})[2], begins(plan, {(0, 0): 1000})[2])] == later


def test_figure_1_4_of_mpior_io_and_barriers_delay_each_other():
    # I1 and I3 on the first node, I2 on the second; B1 of the first two, B2 of the last two, B3 and B4 of all.
    plan = plan_of("w b1 b3 w b4", "c5 b1 b2 w b3 b4", "c9 b2 b3 b4", c1=[0, 1], c2=[1, 2], c3=[0, 1, 2], c4=[0, 1, 2])
    prune(plan)
    assert kept(plan) == [("b", 1), ("b", 2), ("b", 3), ("b", 4)]
    quiet = begins(plan, {})
    for slow, moved in [((0, 0), {(1, 3), (0, 3)}), ((1, 0), {(0, 3)}), ((0, 1), set())]:  # I1 moves I2 and I3, I2 moves I3
        late = begins(plan, {slow: 1000})
        assert {(p, i) for p, process in enumerate(plan.processes) for i, op in enumerate(process.ops) if op.kind == "w" and late[p][i] != quiet[p][i]} == moved
    assert all(end >= 1000 for end in ends(plan, {(0, 0): 0, (0, 1): 1000, (1, 0): 0}))  # I3 decides when all leave B4


def test_figure_1_5_of_mpior_a_barrier_that_no_io_has_moved_is_left_out():
    plan = plan_of("w b1 c5 b2", "c3 b1 c7 b2 w", c1=[0, 1], c2=[0, 1])
    late = [begins(plan, {(0, 0): delay})[1][-1] for delay in (0, 1000)]
    prune(plan)
    assert kept(plan) == [("b", 1)]
    assert [begins(plan, {(0, 0): delay})[1][-1] for delay in (0, 1000)] == late and late[1] - late[0] == 1000


BARRIER = {"c9": [0, 1, 2, 3]}


@pytest.mark.parametrize(
    ("processes", "collectives", "needed"),
    [
        # Four programs that the published rule gets wrong, each behind a barrier of all.
        (["b9", "b9 w p1", "b9 g1 p2", "b9 g2"], {}, {("g", 1), ("g", 2)}),
        (["b9", "b9 w b5 p1", "b9 b5", "b9 g1"], {"c5": [1, 2]}, {("b", 5), ("g", 1)}),
        (["b9 p1 g2", "b9", "b9 w g1 p2", "b9"], {}, {("g", 2)}),
        (["b9", "b9 g1 f2", "b9 w p1 f2*", "b9"], {"c2": [1, 2]}, {("g", 1)}),
    ],
)  # fmt: skip
def test_what_passes_on_a_delay_is_kept(processes, collectives, needed):
    plan = plan_of("w " + processes[0], *processes[1:], **BARRIER, **collectives)
    before = [ends(plan, {(p, k): 1000 * ((p, k) == slow) for p in range(4) for k in range(2)}) for slow in [(0, 0), (1, 0), (2, 0)]]
    prune(plan)
    assert needed <= set(kept(plan))
    assert [ends(plan, {(p, k): 1000 * ((p, k) == slow) for p in range(4) for k in range(2)}) for slow in [(0, 0), (1, 0), (2, 0)]] == before


def test_what_processes_in_step_say_to_each_other_is_left_out():
    plan = plan_of("w b9 c5 p1 g2 b8", "b9 g1 c7 p2 b8", c9=[0, 1], c8=[0, 1])
    prune(plan)
    assert kept(plan) == [("b", 9)]
    assert [op.kind for op in plan.processes[1].ops] == ["b", "c"]


def test_a_plan_that_waits_forever_is_refused():
    with pytest.raises(Refused, match="process 0 waits forever in 'g 1"):
        prune(plan_of("g1", "c5"))

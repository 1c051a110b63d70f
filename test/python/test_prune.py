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

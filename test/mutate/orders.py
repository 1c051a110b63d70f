"""Every memory order of the sources, and whether the model check needs it.

The model check runs the compiled sources. Each atomic access there ends in a call whose return address says which one it was, so an order
is made weaker at run time, in the very program that the tests run: nothing is built anew, and a line that is inlined in ten places is
weakened in all of them at once.

Before it: mutate.py, whose --orders calls it. After it: the program `model`, built in the tree itself. orders.md says of the orders that no
scenario needs why they stay.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants import SOURCES, masked

ROOMS = ("src/core/shm", "src/client", "src/server", "src/api")
ORDERS = ("relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst")  # as the compiler numbers them
KINDS = ("load", "store", "update")
WEAKER = {("load", "seq_cst"): ["acquire"], ("load", "acquire"): ["relaxed"],
          ("store", "seq_cst"): ["release"], ("store", "release"): ["relaxed"],
          ("update", "seq_cst"): ["acq_rel"], ("update", "acq_rel"): ["acquire", "release"],
          ("update", "acquire"): ["relaxed"], ("update", "release"): ["relaxed"]}
ACCESS = re.compile(r"(?:\.|->)(load|store|exchange|fetch_\w+|compare_exchange_\w+)\(|__atomic_(load|store|exchange|fetch|compare)\w*\(")
PATIENCE_S = 120
EXPECTS_AN_ERROR = "is noticed"  # ends the name of a scenario with a mistake: a weaker order may only change which error it finds


@dataclass(frozen=True, order=True)
class Order:
    """An atomic access that asks for more than relaxed."""
    file: str
    line: int
    last_line: int  # of its statement's arguments
    kind: str
    order: str
    text: str

    def weaker(self):
        return WEAKER[self.kind, self.order]

    def place(self):
        return f"{self.file}:{self.line}"


def kind_of(name):
    return name if name in ("load", "store") else "update"


def arguments(text, opened):
    depth = 0
    for at in range(opened, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[opened + 1:at]
    return text[opened + 1:]


def orders_in(file, text, atomics):
    """The accesses of one file. `atomics`: names of atomic objects, whose accesses without an order are seq_cst."""
    plain = "\n".join(masked(line) for line in text.split("\n"))
    for found in ACCESS.finditer(plain):
        inside = arguments(plain, found.end() - 1)
        named = re.findall(r"memory_order_(\w+)|__ATOMIC_(\w+)", inside)
        receiver = re.search(r"(\w+)(?:\[[^\]]*\])?$", plain[:found.start()])
        if not named and (receiver is None or receiver[1] not in atomics):
            continue  # of something else
        order = (named[0][0] or named[0][1].lower()) if named else "seq_cst"
        if order == "relaxed":
            continue
        line = plain.count("\n", 0, found.start()) + 1
        yield Order(file, line, line + inside.count("\n"), kind_of(found[1] or found[2]), order, text.split("\n")[line - 1].strip())


def sources(tree):
    for room in ROOMS:
        for path in sorted(Path(tree, room).rglob("*")):
            if path.suffix in SOURCES:
                yield str(path.relative_to(tree)), path.read_text(encoding="utf-8")


def orders_of(tree):
    """All that are in the sources, in the order of the files."""
    found = list(sources(tree))
    atomics = {name for _, text in found for names in re.findall(r"std::atomic<[\w:]+>[&*>]* (\w[\w{}\[\], ]*)[;={),]", text)
               for name in re.findall(r"[a-z]\w*", names)} - {"false", "true"}
    return sorted(order for file, text in found for order in orders_in(file, text, atomics))


class Model:
    """The program with the scenarios."""

    def __init__(self, program, tree):
        self.program, self.tree = Path(program), tree
        self.cases = {}  # name -> seconds
        self.places = {}  # (file, line, kind, order) -> ({offset}, {case})

    def run(self, case, **environment):
        begun = time.monotonic()
        try:
            done = subprocess.run([self.program, case.replace(",", "\\,")], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                                  env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            return False, time.monotonic() - begun
        return done.returncode == 0, time.monotonic() - begun

    def learn(self):
        """Runs each scenario as it is, and learns which accesses it reaches."""
        listed = subprocess.run([self.program, "--list-test-names-only"], capture_output=True, text=True, check=False).stdout.splitlines()
        if not listed:
            sys.exit(f"mutate: {self.program} has no scenarios; is it built?")
        reached = defaultdict(set)
        for case in (name for name in listed if name and not name.endswith(EXPECTS_AN_ERROR)):
            with tempfile.NamedTemporaryFile("r") as sites:
                passed, self.cases[case] = self.run(case, MODEL_SITES=sites.name)
                if not passed:
                    sys.exit(f"mutate: the model check fails without any change: {case}")
                for line in sites.read().splitlines():
                    offset, kind, order = line.split()
                    reached[offset, KINDS[int(kind)], ORDERS[int(order)]].add(case)
        self.places = self.resolve(reached)

    def resolve(self, reached):
        """The places of offsets: the innermost line of ours."""
        offsets = sorted({offset for offset, _, _ in reached})
        lines = subprocess.run(["addr2line", "-a", "-i", "-e", self.program, *(hex(int(offset, 16) - 1) for offset in offsets)],
                               capture_output=True, text=True, check=True).stdout
        where = {}
        for offset, block in zip(offsets, re.split(r"^0x[0-9a-f]+\n", lines, flags=re.M)[1:]):
            frames = [re.search(r"(?:^|/)((?:src|test)/[^:]+):(\d+)", frame) for frame in block.splitlines()]
            ours = next((frame for frame in frames if frame), None)
            if ours:
                where[offset] = (ours[1], int(ours[2]))
        places = defaultdict(lambda: (set(), set()))
        for (offset, kind, order), cases in reached.items():
            if offset in where:
                entry = places[(*where[offset], kind, order)]
                entry[0].add(offset)
                entry[1].update(cases)
        return places

    def reaches(self, order):
        """({offset}, {case}) of an access of the sources."""
        offsets, cases = set(), set()
        for line in range(order.line, order.last_line + 1):
            if (order.file, line, order.kind, order.order) in self.places:
                its = self.places[order.file, line, order.kind, order.order]
                offsets |= its[0]
                cases |= its[1]
        return offsets, cases

    def unlisted(self, orders):
        """The places of the sources that are reached with an order that is not among these: an operator's, or one that ACCESS does not know."""
        listed = {(order.file, line, order.kind, order.order) for order in orders for line in range(order.line, order.last_line + 1)}
        return sorted(place for place in self.places if place[0].startswith(ROOMS) and place[3] != "relaxed" and place not in listed)

    def killer(self, offsets, cases, weaker):
        """The first scenario that fails when these accesses are weaker; the quick ones first."""
        weaken = f"{ORDERS.index(weaker)}:" + ",".join(sorted(offsets))
        for case in sorted(cases, key=self.cases.get):
            if not self.run(case, MODEL_WEAKEN=weaken)[0]:
                return case
        return None


def read_reasons(path):
    """(file, text of the line) -> why no scenario needs it, of the lines `file | code | why`."""
    reasons = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        words = [word.strip() for word in line.strip().strip("|").split(" | ")]
        if len(words) == 3 and words[0].startswith("src/"):
            reasons[words[0], words[1].strip("`")] = words[2]
    return reasons


def outcome_of(order, model, reasons):
    """(what, sentence): needed, explained, survived or unreached."""
    offsets, cases = model.reaches(order)
    why = reasons.get((order.file, order.text))
    killers = []
    for weaker in order.weaker() if offsets else []:
        killer = model.killer(offsets, cases, weaker)
        if killer is None:
            return ("explained", why) if why else ("survived", f"as {weaker}")
        killers.append(f"{weaker}: {killer}")
    if killers:
        return "needed", "; ".join(killers)
    return ("explained", why) if why else ("unreached", "no scenario gets there")


def campaign(tree, program, only, jobs):
    """Prints the outcome of each order and the score. Returns whether all are needed or explained."""
    known = orders_of(tree)
    orders = [order for order in known if not only or any(order.file.startswith(folder.rstrip("/")) for folder in only)]
    model = Model(program, tree)
    model.learn()
    reasons = read_reasons(tree / "test/mutate/orders.md")
    unlisted = model.unlisted(known)
    for file, line, kind, order in unlisted:
        print(f"unlisted   {file}:{line} {kind} {order}: write it as a call that names its order")
    counts = Counter()
    with ThreadPoolExecutor(jobs) as pool:
        for order, (what, sentence) in zip(orders, pool.map(lambda order: outcome_of(order, model, reasons), orders)):
            counts[what] += 1
            print(f"{what:<10} {order.place()} {order.kind} {order.order}: {sentence}", flush=True)
            if what in ("survived", "unreached"):
                print(f"           {order.text}")
    print(f"\n{counts['needed']} of {len(orders)} orders are needed by a scenario, {counts['explained']} are explained in test/mutate/orders.md, "
          f"{counts['survived']} survive, {counts['unreached']} are not reached")
    return counts["survived"] + counts["unreached"] + len(unlisted) == 0

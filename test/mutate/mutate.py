"""./dev mutate: does any test notice when a line is wrong? A sample of mutants, each one changed line, in a copy of the tree.

The tests nearest to the line come first, then wider ones; the first that fails, or hangs, has killed the mutant. What survives is
either not tested, or does not matter; that is for a reader to say.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from mutants import ORDERS, Mutant, mutants_of, sample
from orders import campaign, orders_of
from tree import BUILD_S, HANG, MUTANT_BUILD_S, Tree, TreeError

OUTCOMES = ("killed", "hung", "survived", "equivalent", "invalid")
SOURCE = Path(__file__).resolve().parents[2]


def parse(words):
    parser = argparse.ArgumentParser(prog="./dev mutate", description="Changes one line of the sources at a time, in a copy of the tree, and checks "
                                     "whether a test fails.", epilog="Exit status: 0 done or out of time, 1 an error or an order that nothing accounts for, 2 wrong usage.")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the sample (default: 1)")
    parser.add_argument("--mutants", type=int, default=300, metavar="N", help="size of the sample (default: 300)")
    parser.add_argument("--only", action="append", metavar="FOLDER", help="only files below this folder, such as src/server; can be repeated")
    parser.add_argument("--minutes", type=float, metavar="M", help="end after that time, and report the results so far")
    parser.add_argument("--resume", action="store_true", help="continue the sample of the same seed and the same commit")
    parser.add_argument("--again", type=Path, metavar="FILE", help="instead of a sample, the survivors of FILE, the results of an earlier run, as far as their lines still exist")
    parser.add_argument("--orders", action="store_true", help="instead of a sample, every memory order of core/shm, client, server and api, one step "
                        "weaker, in the model check of this tree (preset dev): does a scenario need it? Takes --only and --jobs; --list prints the orders")
    parser.add_argument("--list", action="store_true", help="print the sample and end")
    parser.add_argument("--narrow", action="store_true", help="only the tests nearest to the file: a first look")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="J", help="jobs of the compiler and the tests (default: one per core)")
    parser.add_argument("--tree", type=Path, default=SOURCE, help=argparse.SUPPRESS)  # another project: for the test of this program
    options = parser.parse_args(words)
    if options.mutants < 1 or options.jobs < 1:
        parser.error("--mutants and --jobs must be at least 1")
    options.ends = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    return options


def read_rooms(tree):
    return json.loads((tree / "test/mutate/rooms.json").read_text(encoding="utf-8"))


def room_of(rooms, file):
    """The one with the longest folder that holds it."""
    return max((len(folder), name) for name, room in rooms["rooms"].items() for folder in room["folders"] if file.startswith(folder + "/"))[1]


def draw(options, rooms, root):
    found = []
    for name, room in rooms["rooms"].items():
        for folder in room["folders"]:
            found += [m for m in mutants_of(root, name, folder) if room_of(rooms, m.file) == name]
    if options.only:
        found = [m for m in found if any(m.file.startswith(folder.strip("/") + "/") or m.file == folder for folder in options.only)]
    return sample(found, options.mutants, options.seed)


class Campaign:
    def __init__(self, options, rooms, tree, state):
        self.options, self.rooms, self.tree, self.state = options, rooms, tree, state
        self.seconds = {}  # of the tests that are worth something: they pass without a mutant, twice

    def baseline(self, drawn):
        """Builds what these mutants may need, and runs what they may run, twice. Names the tests that are left out."""
        self.labels = self.tree.tests()
        wanted = sorted({name for mutant in drawn for stage in self.stages(mutant) for name in stage})
        self.say("building the tree as it is")
        if not self.tree.compile(self.targets(wanted), BUILD_S):
            raise TreeError(f"the tree as it is does not compile:\n{self.tree.printed()[-3000:]}")
        self.tree.learn_objects()
        bad = set()
        for attempt in (1, 2):
            self.say(f"running {len(wanted) - len(bad)} tests of the tree as it is, {'first' if attempt == 1 else 'second'} time")
            results = self.tree.test([name for name in wanted if name not in bad], BUILD_S, stop=False)
            if results == HANG:
                raise TreeError(f"the tests of the tree as it is take longer than {BUILD_S} s")
            bad |= {name for name, (outcome, _) in results.items() if outcome != "passed"}
            self.seconds.update({name: seconds for name, (outcome, seconds) in results.items() if outcome == "passed"})
        for name in sorted(bad):
            self.seconds.pop(name, None)
            self.say(f"left out, since it does not pass without a mutant: {name}")

    def stages(self, mutant):
        """Lists of tests; each stage has those that no earlier one had."""
        if mutant.kind == ORDERS:
            return [[name for name in self.rooms["orders"] if name in self.labels]]
        stages = [[name for name in self.rooms["rooms"][mutant.room]["tests"] if name in self.labels]]
        for labels in [] if self.options.narrow else self.rooms["wider"]:
            had = {name for stage in stages for name in stage}
            left_out = set(self.rooms.get("without", "").split("|"))
            stages.append([name for name, its in self.labels.items() if name not in had and its & set(labels.split("|")) and not its & left_out])
        return stages

    def targets(self, names):
        """For ninja; none, which means all, where one of the tests is no target."""
        return [*names] if all(self.tree.is_target(name) for name in names) else []

    def one(self, mutant):
        """(outcome, the test that has killed it)."""
        restore = self.tree.put(mutant)
        try:
            differs, since = False, time.time_ns()
            for stage in self.stages(mutant):
                stage = [name for name in stage if name in self.seconds]
                if stage and not self.tree.compile(self.targets(stage), MUTANT_BUILD_S):
                    return "invalid", ""
                differs = differs or self.tree.changed_objects(since)
                if stage and differs and (killer := self.killer(stage)):
                    return killer
            return ("survived" if differs else "equivalent"), ""
        finally:
            restore()

    def killer(self, stage):
        """The quick tests first. A hang is a kill."""
        stage = sorted(stage, key=self.seconds.get)
        results = self.tree.test(stage, self.rooms["patience_s"] + 4 * sum(self.seconds[name] for name in stage))
        if results == HANG:
            return "hung", stage[0] if len(stage) == 1 else f"one of {len(stage)} tests"
        failed = [name for name, (outcome, _) in results.items() if outcome == "failed"]
        return ("killed", failed[0]) if failed else None

    def go(self, drawn, known):
        left = [m for m in drawn if m not in known]
        begun = time.monotonic()
        for done, mutant in enumerate(left, 1):
            if time.monotonic() > self.options.ends:
                self.say(f"its time is over: {len(left) - done + 1} mutants are left for --resume")
                break
            outcome, by = self.one(mutant)
            known[mutant] = outcome, by
            with open(self.state, "a", encoding="utf-8") as state:
                state.write(line_of(mutant, outcome, by))
            self.say(f"{time.monotonic() - begun:.0f} s: {done} of {len(left)}: {mutant.file}:{mutant.line} {mutant.kind}: {outcome}"
                     + (f" by {by}" if by else ""))

    @staticmethod
    def say(sentence):
        print(sentence, flush=True)


def line_of(mutant, outcome, by):
    return json.dumps({**mutant.as_json(), "outcome": outcome, "by": by}) + "\n"


def read_state(state, header, resume):
    """What is known of the sample; begins the file anew where that is of another one, or not to be gone on with."""
    known = known_in(state) if resume and state.exists() and header_of(state) == header else {}
    state.write_text(json.dumps(header) + "\n" + "".join(line_of(mutant, *its) for mutant, its in known.items()), encoding="utf-8")
    return known


def header_of(state):
    return json.loads(state.read_text(encoding="utf-8").splitlines()[0])


def known_in(state):
    known = {}
    for found in map(json.loads, state.read_text(encoding="utf-8").splitlines()[1:]):
        outcome = found.pop("outcome"), found.pop("by")
        known[Mutant(**found)] = outcome
    return known


def survivors_of(state, root):
    """Those of another run, perhaps of an older commit: a line that has moved is the nearest one with its text."""
    for mutant in (m for m, (outcome, _) in known_in(state).items() if outcome == "survived"):
        path = root / mutant.file
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        places = [number for number, line in enumerate(lines, 1) if line == mutant.before]
        if places:
            yield replace(mutant, line=min(places, key=lambda number: abs(number - mutant.line)))
        else:
            print(f"gone: {mutant.file}:{mutant.line}: {mutant.before.strip()}")


def report(known, rooms):
    survivors = [m for m, (outcome, _) in known.items() if outcome == "survived"]
    if survivors:
        print("\nsurvivors:")
    for mutant in sorted(survivors, key=lambda m: (m.room, m.file, m.line)):
        print(mutant.diff())
    counts = {name: Counter(outcome for m, (outcome, _) in known.items() if m.room == name) for name in rooms["rooms"]}
    counts["all"] = sum(counts.values(), Counter())
    print(f"\n{'room':<12}" + "".join(f"{outcome:>12}" for outcome in OUTCOMES) + f"{'score':>9}")
    for name, count in counts.items():
        noticed, valid = count["killed"] + count["hung"], count["killed"] + count["hung"] + count["survived"]
        print(f"{name:<12}" + "".join(f"{count[outcome]:>12}" for outcome in OUTCOMES) + (f"{100 * noticed / valid:>8.0f}%" if valid else f"{'-':>9}"))


def try_orders(options):
    if options.list:
        for order in orders_of(options.tree):
            print(f"{order.place()}: {order.kind} {order.order}: {order.text}")
        return None
    build = options.tree / read_rooms(options.tree)["build"]
    if subprocess.run(["cmake", "--build", build, "--target", "model", "-j", str(options.jobs)], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        raise TreeError(f"the model check in {build} cannot be built; ./dev build dev says why")
    if not campaign(options.tree, build / "test/bin/model", options.only, options.jobs):
        raise TreeError("some orders are neither needed by a scenario nor explained")
    return None


def main():
    options = parse(sys.argv[1:])
    if options.orders:
        return try_orders(options)
    rooms, place = read_rooms(options.tree), options.tree / "build/mutate"
    place.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "-C", options.tree, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    changed = subprocess.run(["git", "-C", options.tree, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True).stdout
    if changed:
        print("what is not committed is not in the copy")
    tree = Tree(options.tree, place / "tree", rooms, options.jobs)
    tree.prepare(commit)
    drawn = list(survivors_of(options.again, tree.root)) if options.again else draw(options, rooms, tree.root)
    if not drawn:
        raise TreeError(f"nothing in {options.again} has survived" if options.again else f"no line below {options.only} can be changed")
    if options.list:
        for mutant in drawn:
            print(mutant.diff())
        return
    name = f"{options.again.stem}-again" if options.again else str(options.seed)
    header = {"sample": name, "mutants": options.mutants, "only": options.only, "narrow": options.narrow, "commit": commit}
    state = place / f"{name}.jsonl"
    known = read_state(state, header, options.resume)
    print(f"sample {name}: {len(drawn)} mutants of {commit[:10]}, {len(known)} of them known", flush=True)
    campaign = Campaign(options, rooms, tree, state)
    campaign.baseline(drawn)
    try:
        campaign.go(drawn, known)
    finally:
        report(known, rooms)


if __name__ == "__main__":
    try:
        main()
    except TreeError as error:
        sys.exit(f"mutate: {error}")
    except KeyboardInterrupt:
        sys.exit(130)

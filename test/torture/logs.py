"""Logs (dc_append): what clients append beside their steps comes back whole and in order, however the run ends.

Before it: scenario.py, which weaves appends and commits into the scripts. After it: check.py, with what the calls returned.
"""

import re
import zlib

import numpy

from damaris import stream_log

SERVER_LOST = -600
MAGIC, HEAD = 0x10C5, 5  # of a record, in numbers of 32 bits: magic, phase, number, count of values, first value
PHASES = ("first", "second")
TOO_LATE = re.compile(r"the last (\d+) appends of client (\d+) came too late")
SHARE = 0.4  # of the runs


def draw_logs(run, rng):
    """What <stream-log> says, "" for none; the appends come into the scripts."""
    if rng.random() > SHARE or run.fault.kind.name == "server killed, another start":  # which discards what there is
        return ""
    often, most = rng.choice((0.2, 0.5, 0.8)), rng.choice((4, 40, 400, 4000))
    for phase in PHASES:
        for source, lines in enumerate(run.scripts[phase]):
            weave(rng, run, lines, PHASES.index(phase), source, often, most)
    return f'<stream-log name="events" files="{rng.randint(1, 3)}" block="4KiB" buffered="{rng.choice(("true", "true", "false"))}"/>'


def weave(rng, run, lines, phase, source, often, most):
    """After `init`, and `meet`, and before `finalize`; not in a team, where the calls of the thread that is always there would be its first."""
    first = 1 + max(number for number, line in enumerate(lines) if line in ("init", "meet"))
    number = 0
    woven, team = lines[:first], False
    last = lines.index("finalize")  # a child may come after it
    for line in lines[first : last + 1]:
        while not team and rng.random() < often:
            count = int(most ** rng.random())
            woven.append(f"append {phase} {number} {count} {zlib.crc32(f'{run.seed} log {phase} {source} {number}'.encode())}")
            number += 1
        if not team and rng.random() < often / 4:
            woven.append(f"commit {rng.choice((20, 300, 10000))}")
        team = line.startswith("team") or (team and line != "join")
        woven.append(line)
    lines[:] = woven + lines[last + 1 :]


def records(out):
    """(source, phase, number) -> (count, first value) of what is in the log, and sentences about what is wrong in it."""
    found, wrong = {}, []
    if not stream_log.names(out / "x"):  # a server that was killed before it had written a header leaves none
        return found, wrong
    log = stream_log.open(out / "x")
    for stream in log.streams:
        try:
            numbers = numpy.frombuffer(log.read(stream), "u4")
        except Exception as error:  # what it cannot read it names
            wrong.append(str(error))
            continue
        last = (-1, -1)
        while numbers.size:
            head = [int(number) for number in numbers[:HEAD]]
            if len(head) < HEAD or head[0] != MAGIC or numbers.size < HEAD + head[3]:
                wrong.append(f"stream {stream} has something else than a record after {last}")
                break
            _, phase, number, count, base = head
            values = (numpy.uint32(base & 0xFFFFFF) + numpy.arange(count, dtype="u4") * numpy.uint32(40503)) & numpy.uint32(0xFFFFFF)
            if not numpy.array_equal(numbers[HEAD : HEAD + count], values):
                wrong.append(f"append {number} of phase {phase} in stream {stream} has other values")
            if (phase, number) <= last:
                wrong.append(f"append {number} of phase {phase} in stream {stream} comes after {last}")
            last = (phase, number)
            found.setdefault((stream, phase, number), (count, base))
            numbers = numbers[HEAD + count :]
    return found, wrong


class Logs:
    """What the log of a run should have."""

    def __init__(self, check):
        self.check, self.run = check, check.run

    def appends(self, phase, ledger, only_returned=True):
        for call in ledger.calls:
            if call.words[0] == "append" and (call.code == 0 or not only_returned):
                yield (ledger.source, int(call.words[1]), int(call.words[2])), call

    def by_source(self, found):
        return {(stream // self.run.threads, phase, number): what for (stream, phase, number), what in found.items()}

    def committed_at_once(self):
        """What a commit had promised, before anybody recovers anything."""
        if not self.run.log:
            return
        found = self.by_source(records(self.check.runner.out)[0])
        for phase, ledger in self.check.ledgers:
            commits = [call.number for call in ledger.returned("commit") if call.code == 0]
            for key, call in self.appends(phase, ledger):
                if call.number < max(commits, default=-1) and key not in found:
                    self.check.broken(f"append {key} was not on disk although dc_log_commit had called it durable")

    def stored(self, replaced):
        if not self.run.log:
            return
        found, wrong = records(self.check.runner.out)
        for sentence in wrong:
            self.check.broken(f"log: {sentence}")
        found, known = self.by_source(found), set()
        for phase, ledger in self.check.ledgers:
            known |= {key for key, _ in self.appends(phase, ledger, only_returned=False)}
            excused = self.excused(phase, ledger) or replaced(ledger)
            late = self.too_late(ledger)
            for key, call in self.appends(phase, ledger):
                self.check.result.appends += 1
                if key not in found and call.number not in late and not (excused and call.number > excused_up_to(ledger)):
                    self.check.broken(f"append {key} returned, and is nowhere")
        for key in found.keys() - known:
            self.check.broken(f"append {key} is in the log, but nobody made it")

    def excused(self, phase, ledger):
        """In place what is not committed goes with the process, and what the disk refuses up to the end, of which finalize says so."""
        if phase != "first" or self.run.mode != "in-place":
            return False
        return not ledger.ended or any(call.code < 0 for call in ledger.returned("finalize"))

    def too_late(self, ledger):
        """What a server that was asked to stop has not taken."""
        if not self.check.kind.server_leaves:
            return set()
        count = max((int(n) for call in ledger.calls if call.code == SERVER_LOST for n, _ in TOO_LATE.findall(call.sentence)), default=0)
        numbers = [call.number for _, call in self.appends("first", ledger)]
        heard = any(call.code == SERVER_LOST for call in ledger.calls)
        if not heard and not ledger.ended:  # killed before it could hear how many
            return set(numbers)
        return set(numbers[-count:]) if count else set()


def excused_up_to(ledger):
    """The last commit that succeeded: what came before is excused by nothing."""
    return max((call.number for call in ledger.returned("commit") if call.code == 0), default=-1)

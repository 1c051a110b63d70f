"""The promises: what a run must have kept, whatever was done to it.

A block whose call returned DC_OK is in the files with its values, or a call has reported that it is not;
what dc_flush called durable was there at once; no call was longer than its bound; nothing is damaged, and nothing is left.
"""

import json
import re
import stat
import subprocess
from functools import partial

from cluster import SHARED, neighbours
from faults import ALWAYS, EARLIER_IO, FULL, NOT_ENDED, SERVER_LOST, TIMEOUT, together
from back_pressure import DROPPED, SKIPPED, is_told, refused, wrong_refusal
from ledger import read_ledger
from logs import Logs
from reads import wrong_read
from processes import CRASHES, MARGIN_S
from scenario import base_of
from stored import expected, read_stored, same
from times import wrong_times

STEP = re.compile(r"step (\d+)")
MISSES = re.compile(r"the manifest(?:, which server 0 keeps,)? lacks \d+ steps, step (\d+) to step (\d+)")
DIED = re.compile(r"client (\d+) died after")
LEFT = re.compile(r"steps (\d+) to (\d+) are not stored, and lost")  # in place, where no region keeps them
TOO_LATE = re.compile(r"the last (\d+) writes and signals of client (\d+) came too late")
ENDED_BY = re.compile(r"exited on signal (\d+)")
LAST_MAIL = "; it had to say: "  # of a server that is lost
LOST_REGION = re.compile(r"/dev/shm(/damaris\.\S+?\.)n\d+\.s\d+")
IN_ITS_LOG = re.compile(r"its log, .*, says whether|no log says whether")
DATA = ("write", "alloc")


class Check:
    def __init__(self, runner, result):
        self.runner, self.result, self.run = runner, result, runner.run
        self.kind = together(self.run.fault)
        self.ledgers = []
        self.after = None  # keys of what there was to be read in the second phase, once something was
        self.before = set()  # keys of what the earlier run had handed over
        self.recorded = set()
        self.logs = Logs(self)
        self.nowhere = {}  # step -> a name, of what was handed over and is not stored, for whatever reason
        self.cut_off = set()  # clients whose finalize gave up, perhaps at a full lane: the server hears of their end only

    def broken(self, sentence):
        self.result.lost.append(sentence)

    # ---- the calls

    def earlier(self):
        """The run that is there to be read; nothing was done to it."""
        for source in range(self.run.clients if self.run.earlier else 0):
            ledger = read_ledger(self.runner, "before", source)
            self.codes("before", ledger)
            self.before |= {key for key, _ in self.blocks("before", ledger)}
            if not ledger.ended:
                self.broken(f"before: client {source} ended without being killed")

    def calls(self, phase):
        for source in range(self.run.clients):
            ledger = read_ledger(self.runner, phase, source)
            self.ledgers.append((phase, ledger))
            self.cut_off |= {source for call in ledger.returned("finalize") if call.code in (FULL, TIMEOUT)}
        for source, (_, ledger) in enumerate(self.ledgers[-self.run.clients:]):
            self.codes(phase, ledger)
            if not ledger.ended and not self.may_die(phase):
                self.broken(f"{phase}: client {source} ended without being killed, in: {ledger.calls[-1].line if ledger.calls else '-'}")

    def may_die(self, phase):
        launcher_ends_it = self.run.mode == "mpi" and (self.kind.server_dies or self.kind.server_leaves)
        return phase == "first" and (self.kind.client_dies or launcher_ends_it)

    def codes(self, phase, ledger):
        kind = self.kind if phase == "first" else None
        for call in ledger.returned(*{call.words[0] for call in ledger.calls}):
            where = f"{phase}: client {ledger.source}: {call.line}: "
            bound = self.run.bound_s(call.words[0], call.line) + MARGIN_S + (self.run.fault.hold_s if kind else 0)
            if call.seconds > bound and call.words[0] != "sleep":
                self.result.hung.append(f"{where}took {call.seconds:.1f} s, more than {bound:.1f} s")
            if call.words[0] == "read":
                self.one_read(phase, kind, call, where)
                continue
            if call.words[0] in DATA and (wrong := wrong_refusal(self.run, call)):
                self.broken(f"{where}{wrong}: {call.sentence}")
            if call.wrong:
                self.broken(f"{where}{call.wrong}")
            if call.code < 0 and not (self.explained(kind, call) or self.lane_was_full(ledger, call)):
                self.broken(f"{where}{call.code} {call.sentence}: nothing that was done to the run explains that")

    def one_read(self, phase, kind, call, where):
        """What a later phase has read is the run's own: it is looked at when it is known what was stored."""
        self.result.reads += call.code == 0
        if phase != "first" and self.after is None:
            self.after = read_stored(self.runner.out).blocks.keys()
        stored = self.before if phase == "first" else self.after
        if wrong := wrong_read(self.run, kind, call, stored):
            self.broken(f"{where}{call.code} {call.sentence}: {wrong}")

    @staticmethod
    def explained(kind, call):
        word, code = call.words[0], call.code
        if word == "init":
            return kind is not None and code in kind.init_codes
        if code in ALWAYS or (word in ("flush", "commit", "append") and code == TIMEOUT):
            return True
        return kind is not None and code in kind.codes

    def lane_was_full(self, ledger, told):
        """What follows when a lane stays full for the buffer's time-out: a step that has not ended, a client that is cut off."""
        if told.code == NOT_ENDED:
            return any(call.code == FULL and call.line == f"end {told.words[1]}" for call in ledger.calls)
        died = DIED.search(told.sentence) if told.code == EARLIER_IO else None
        return died is not None and int(died[1]) in self.cut_off

    def crashes(self):
        """Nobody aborts, whatever is done to it; what a launcher tells of its ranks counts, too."""
        ended = [int(number) for number in ENDED_BY.findall(self.runner.text("clients"))]
        for sentence in [*self.runner.group.crashed(), *(f"a rank was ended by signal {number}" for number in ended if number in CRASHES)]:
            self.broken(sentence)

    def slow_plugin(self):
        for line in self.runner.log_lines():
            if "'sleeper' failed" in line:
                self.broken(f"the data of a step changed while a plugin had them: {line}")

    # ---- the data

    def blocks(self, phase, ledger, only_returned=True):
        """(variable, step, source, block) and the call, of what was handed over, or also of what may have been."""
        for call in ledger.calls:
            if call.words[0] in DATA and (call.code == 0 or (call.code is None and not only_returned)):
                yield (call.words[1], int(call.words[2]), ledger.source, int(call.words[3])), call

    def durable_at_once(self):
        """What a flush or a commit had promised, before anybody recovers anything."""
        self.logs.committed_at_once()
        stored = read_stored(self.runner.out)
        promised = {}
        for _, ledger in self.ledgers:
            for flush in ledger.returned("flush"):
                if flush.code == 0:
                    promised[ledger.source] = int(flush.words[1])
        for phase, ledger in self.ledgers:
            node = neighbours(self.run, ledger.source)
            until = max((step for source, step in promised.items() if source in node), default=-1)
            for key, _ in self.blocks(phase, ledger):
                if key[1] <= until and key not in stored.blocks and not self.told_failed(stored, ledger, key[1]):
                    self.broken(f"{self.name(key)} was not on disk although dc_flush had called step {until} durable")

    def stored(self):
        stored = read_stored(self.runner.out)
        for sentence in stored.damaged:
            self.broken(sentence)
        self.result.spilled_bytes, self.result.reduced_steps = stored.spilled_bytes, len(stored.reduced_steps)
        self.recorded = stored.steps
        self.left_out(stored)
        for sentence in wrong_times(stored, self.ledgers, self.too_late, partial(self.excused, stored)):
            self.broken(sentence)
        known = set()
        for phase, ledger in self.ledgers:
            too_late = self.too_late(ledger)
            for key, call in self.blocks(phase, ledger, only_returned=False):
                known.add(key)
                self.one_block(stored, phase, ledger, key, call, too_late)
        for key in stored.blocks.keys() - known:
            self.broken(f"{self.name(key)} is in the files, but nobody wrote it")
        self.logs.stored(partial(self.replaced, stored))
        if stored.missing - self.cut_off and not (self.kind.client_dies or self.kind.server_dies or self.kind.server_leaves):
            self.broken(f"the manifest calls clients {sorted(stored.missing)} missing, but none was")

    def one_block(self, stored, phase, ledger, key, call, too_late):
        variable = next(v for v in self.run.variables if v.name == key[0])
        self.result.datasets += call.code == 0
        if key not in stored.blocks:
            if call.code == 0:
                self.nowhere[key[1]] = self.name(key)
            excused = call.number in too_late or self.excused(stored, phase, ledger, key[1]) or self.died_unheard(stored, phase, ledger, key, call)
            if call.code == 0 and not excused:
                self.broken(f"{self.name(key)} was handed over and is nowhere")
            return
        length = int(call.words[5])
        wanted = expected(base_of(self.run.seed, *key), length, variable.type)
        if not same(stored.blocks[key], wanted, variable.tolerance(key[1] in stored.reduced_steps)):
            self.broken(f"{self.name(key)} is stored with other values")

    def left_out(self, stored):
        """What back-pressure has left out is in the manifest, and each such entry was reported to a client."""
        told = set()
        for phase, ledger in self.ledgers:
            calls = [call for call in refused(ledger) if self.is_due(call)]
            self.result.left_out += len(calls)
            told |= {(call.words[1], int(call.words[2])) for call in calls}
            told |= {(call.words[1], int(call.words[2])) for call in ledger.calls if call.words[0] in DATA and call.code is None}
            for call in calls:
                if not is_told(stored, call) and not self.could_not_tell(stored, phase, ledger, int(call.words[2])):
                    self.broken(f"{phase}: client {ledger.source}: {call.line}: was left out ({call.code}), but the manifest does not say so")
        for variable, step in stored.left_out - told:
            if step in stored.recovered_steps:
                continue  # what the node had decided counts for all variables then
            self.broken(f"the manifest says that {variable} was left out of step {step}, but no call has reported it")

    def is_due(self, call):
        """A full lane is reported before a step is open, also for a variable that is not due in it."""
        return int(call.words[2]) % next(v.every for v in self.run.variables if v.name == call.words[1]) == 0

    def could_not_tell(self, stored, phase, ledger, step):
        """A client tells the server at the end of the step, and the server the manifest when it stores it."""
        lost = any(call.code == SERVER_LOST for call in ledger.calls)
        unheard = ledger.source in stored.missing_of.get(step, ())  # its server had been asked to stop
        return not ledger.ended or lost or unheard or ledger.source in self.cut_off or (phase == "first" and self.told_failed(stored, ledger, step))

    def excused(self, stored, phase, ledger, step):
        if phase == "first" and self.run.mode == "in-place" and self.kind.client_dies and not ledger.ended:
            ends = [int(call.words[1]) for call in ledger.returned("end") if call.code in (0, EARLIER_IO)]
            return step > max(ends, default=-1)  # its memory went with it: what it had not ended was nobody else's
        return phase == "first" and (self.told_failed(stored, ledger, step) or self.replaced(stored, ledger))

    def replaced(self, stored, ledger):
        """Its server died before all clients had attached. One of the others then started a server, and so a run, which replaces the first."""
        mine = self.lost_region(ledger) if self.kind.dies_at_a_call else None
        others = [one for phase, one in self.ledgers if phase == "first" and one.returned("init") and self.lost_region(one) != mine]
        return mine in stored.regions[:-1] and any(one.returned("init")[0].code == 0 for one in others)

    @staticmethod
    def lost_region(ledger):
        found = [name for call in ledger.calls if call.code == SERVER_LOST for name in LOST_REGION.findall(call.sentence)]
        return found[-1] if found else None

    def died_unheard(self, stored, phase, ledger, key, call):
        """Killed before it could hear that its server, which was asked to stop, had taken its last event. The manifest calls the step partial."""
        if not (self.kind.server_leaves and self.kind.client_dies) or ledger.ended or ledger.source not in stored.missing_of.get(key[1], ()):
            return False
        later = [other for other, one in self.blocks(phase, ledger) if one.thread == call.thread and one.number > call.number]
        return not any(other in stored.blocks for other in later)

    def told_failed(self, stored, ledger, step):
        """The storage could not, and said so: in the manifest, or to this client, or in the log where the client is gone."""
        if not self.kind.storage:
            return False
        heard = [call.sentence for call in ledger.calls if call.code == EARLIER_IO]
        heard += [call.sentence.split(LAST_MAIL)[1] for call in ledger.calls if call.code == SERVER_LOST and LAST_MAIL in call.sentence]
        killed = self.kind.client_dies and not ledger.ended  # before it could hear of it
        if killed or any(call.code == SERVER_LOST and IN_ITS_LOG.search(call.sentence) for call in ledger.calls):
            heard += [line for line in self.runner.log_lines() if " error: " in line and " failed at step " in line]
        if len(self.run.nodes) > 1:  # the one that keeps the manifest ends last: the clients of the others are gone then
            heard += [line for line in self.runner.log_lines() if "failed in finalize: the manifest lacks" in line]
        told = {int(s) for sentence in heard for s in STEP.findall(sentence)}
        ranges = [found for sentence in heard for kind in (MISSES, LEFT) for found in kind.findall(sentence)]
        told |= {s for first, last in ranges for s in range(int(first), int(last) + 1)}
        return step in stored.failed_steps or step in told

    def too_late(self, ledger):
        """The calls whose events nobody took: a server that was asked to stop counts them for the client."""
        if not self.kind.server_leaves:
            return set()
        count = max((int(n) for call in ledger.calls if call.code == SERVER_LOST for n, _ in TOO_LATE.findall(call.sentence)), default=0)
        calls = [call for call in ledger.returned(*DATA, "time", "end") if call.code in (0, SKIPPED, DROPPED)]
        late = set()
        for thread in {call.thread for call in calls} if count else ():
            of_lane = [call for call in calls if call.thread in ("", thread)]
            # What was skipped is sent at the end of its step, and not at all when that found no server.
            for sent in (of_lane, [call for call in of_lane if call.code == 0]):
                late.update(call.number for call in sent[-count:])
        return late

    @staticmethod
    def name(key):
        return f"{key[0]} of step {key[1]} by client {key[2]}, block {key[3]}"

    # ---- what is left

    def verified(self):
        if not list(self.runner.out.glob("x.g*.jsonl")):
            return
        done = subprocess.run([self.runner.build / "bin/damaris-verify", "--json", self.runner.out / "x"], capture_output=True, text=True,
                              timeout=60, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return self.broken(f"damaris verify: {done.stderr}")
        for damage in found["damaged"]:
            self.broken(f"damaris verify: step {damage['step']}: {damage['file']} {damage['dataset']}: {damage['what']}")
        for damage in found["logs"]["damaged"]:
            self.broken(f"damaris verify: log: {damage}")
        partial = {one["step"] for one in found["partial"]}
        for step, name in self.nowhere.items():
            if step in self.recorded and step not in partial:
                self.broken(f"damaris verify calls step {step} whole, but {name}, which was handed over, is nowhere")
        unknown = [name for name in found["not_recorded"] if not name.startswith(".")]
        if self.kind.server_dies or (self.run.mode == "mpi" and self.kind.client_dies):  # a file of several servers, named and not recorded yet: recovery has stored their parts anew
            together = {name: int(one[1]) for name in unknown if (one := re.fullmatch(r"x(?:\.g\d+)?\.i(\d+)\.h5", name))}
            unknown = [name for name in unknown if together.get(name) not in self.recorded]
        if unknown and not self.kind.storage and not (self.run.mode == "in-place" and self.kind.client_dies):
            self.broken(f"no record of the manifest tells of {unknown}")
        lacking = [one for one in found["partial"] if "for lack of room" not in one["what"]]
        if lacking and self.kind.name == "none":
            self.broken(f"damaris verify calls it partial: {lacking}")

    def nothing_left(self):
        for name in self.runner.shm_names():
            self.broken(f"/dev/shm/{name} is left")
        for path in self.runner.out.iterdir():
            of_all = self.run.files in SHARED and self.run.recover == "command"  # it may be of a living one elsewhere: a start knows
            if ".tmp." in path.name and of_all:
                continue
            if path.name.endswith(".lock"):
                continue  # of a run that was killed: it holds nobody up, and goes with the next run
            if ".tmp." in path.name or path.name.startswith("."):
                self.broken(f"the temporary file {path.name} is left")  # docs/file-format.md: none is for longer than the run
        for path in self.runner.folder.rglob("*"):
            if path.parent.name == "spill" or path.suffix == ".spill":
                self.broken(f"the spilled data {path.name} are left")
            if stat.S_ISSOCK(path.lstat().st_mode):
                self.broken(f"the socket {path.name} is left")

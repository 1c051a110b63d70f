"""Runs the parts one after the other, and keeps books of them in campaign.json: when, from which commit, how quiet it was, why not.

Used by: bench_all.py. Before it: options. After it: NAME.json and NAME.log in the folder of results.
"""

import contextlib
import fcntl
import json
import os
import subprocess
import tempfile
import time
from datetime import datetime

from parts import PARTS, ROOT, command_line, seconds_of
from quiet import Watch
from running import DONE, FAILED, LEFT_OUT, Ended, run_part

RECORD = "campaign.json"
KEYS = {FAILED: "failed", LEFT_OUT: "left_out"}  # of a line: the reason


class Campaign:
    def __init__(self, options):
        self.options, self.folder = options, options.results
        self.record = read_record(self.folder)
        self.commit = commit()

    def todo(self):
        """The parts that --only names, or those without a result."""
        only = self.options.only
        return [part for part in PARTS if (part.name in only if only else not self.path_of(part).exists())]

    def path_of(self, part):
        return self.folder / f"{part.name}.json"

    def mismatch(self):
        """Why these options and what is in the folder do not go together, or ''."""
        was = self.record.get("quick", self.options.quick)
        if was == self.options.quick:
            return ""
        kind, more = ("quick", "add --quick") if was else ("full", "leave --quick out")
        return f"{self.folder} holds results of a {kind} campaign; {more}, or give another --results"

    def kind_is_unknown(self):
        return "quick" not in self.record and any(self.path_of(part).exists() for part in PARTS)

    def measure(self, show):
        """Runs what is to be done. show: told of each part. Returns the names of the parts that failed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.record["quick"] = self.options.quick
        failed = []
        todo = self.todo()
        with alone_in(self.folder):
            for number, part in enumerate(todo):
                later = sum(seconds_of(one, self.options.quick) for one in todo[number + 1:])
                with show.part(part, number + 1, len(todo), later) as shown:
                    ended = self.measure_one(part, shown)
                if ended.how == FAILED:
                    failed.append(part.name)
        return failed

    def measure_one(self, part, shown):
        options, new = self.options, self.folder / f"{part.name}.partial.json"
        began, watch = time.monotonic(), Watch()
        line = dict(began=datetime.now().strftime("%Y-%m-%d %H:%M"), commit=self.commit, load=round(os.getloadavg()[0], 2),
                    fields=bool(options.fields))
        try:
            # A folder around its own: what a killed part leaves there goes, too.
            with tempfile.TemporaryDirectory(prefix="damaris-bench.all.", dir=options.folder, ignore_cleanup_errors=True) as place:
                words = command_line(part, new.resolve(), options.quick, folder=place, fields=options.fields)
                ended = run_part(part, words, self.folder / f"{part.name}.log", options.quick, shown.tick)
            if ended.how == DONE and not new.exists():
                ended = Ended(FAILED, "it ended well and left no results")
            line.update(seconds=round(time.monotonic() - began, 1), **watch.seen())
            if ended.how == DONE:
                new.replace(self.path_of(part))
            self.keep(part, line, ended)
        finally:
            new.unlink(missing_ok=True)
        shown.end(ended, line["seconds"])
        return ended

    def keep(self, part, line, ended):
        parts = self.record.setdefault("parts", {})
        told = {KEYS[ended.how]: ended.why} if ended.why else {}
        if told and self.path_of(part).exists():  # an earlier result stays, and what is known of it
            parts[part.name] = dict(parts.get(part.name, {}), again=dict(began=line["began"], **told))
        else:
            parts[part.name] = dict(line, **told)
        new = self.folder / f"{RECORD}.new"
        new.write_text(json.dumps(self.record, indent=1) + "\n")
        new.replace(self.folder / RECORD)


@contextlib.contextmanager
def alone_in(folder):
    """Two campaigns in one folder would take each other's results away."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as failure:
            raise InUse(f"another campaign is measuring in {folder}; wait until it has ended, or give another --results") from failure
        except OSError:
            pass  # a file system that cannot lock: then nobody knows
        yield
    finally:
        os.close(descriptor)


class InUse(Exception):
    """The text is what a user should read."""


def read_record(folder):
    """{} without one. What cannot be read is left out: the figures themselves are elsewhere."""
    try:
        record = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) and isinstance(record.get("parts", {}), dict) else {}


def commit():
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip().replace("-dirty", " with changes") if done.returncode == 0 else "unknown"

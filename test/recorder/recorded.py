"""Runs a program twice, alone and under `damaris record`, and says what the recording has seen.

Both runs are in a folder of the same name, so that what they print and write can be compared byte for byte.
"""

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import damaris

BUILD = Path(os.environ["DAMARIS_BUILD_DIR"])
FLAVOUR = os.environ.get("DAMARIS_MPI_FLAVOUR", "OFF")
MPI_RUN = Path(os.environ["DAMARIS_SOURCE_DIR"]) / "scripts/mpi-run"
PROGRAMS = BUILD / "test/bin"
LIMIT_S = 300
TRIES = 5

WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range")
WRITTEN_TO = {"copy_file_range": 1}  # which of the named descriptors; else the first
CALL = re.compile(rf"^({'|'.join(WRITES)})\((.*)\) += (\d+)\b")
DESCRIPTOR = re.compile(r"\b\d+<([^>]*)>")


@dataclass
class Run:
    status: int
    out: bytes
    err: bytes
    folder: Path
    recording: Path | None = None
    trace: Path | None = None  # strace's files

    @property
    def tables(self):
        return damaris.open(self.recording)

    def one(self, sql):
        [[value]] = self.tables.query(sql).fetchall()
        return value

    def name(self, path):
        """As a test calls a file of the run: relative to its folder."""
        return str(Path(path).relative_to(self.folder))

    def mine(self, path):
        return Path(path).is_relative_to(self.folder)

    def written(self, more=""):
        """Bytes that write calls of the program gave to each file, by the recording."""
        rows = self.tables.query(f"""select o.name, sum(c.bytes)::bigint from calls c join objects o on o.id = c.object
            where c.kind = 'write' and c.layer in ('posix', 'stdio') and o.kind = 'file' {more} group by all""").fetchall()
        return {self.name(path): count for path, count in rows if self.mine(path) and count}

    def straced(self):
        """The same by strace."""
        counts = Counter()
        for path in self.trace.parent.glob(self.trace.name + ".*"):
            for line in path.read_text(errors="replace").splitlines():
                if (call := CALL.match(line)) and (found := DESCRIPTOR.findall(call[2])):
                    counts[found[min(WRITTEN_TO.get(call[1], 0), len(found) - 1)]] += int(call[3])
        return {self.name(path): count for path, count in counts.items() if self.mine(path) and count}

    def sizes(self):
        return {self.name(path): path.stat().st_size for path in self.folder.rglob("*") if path.is_file() and path.stat().st_size}


@cache
def why_no_strace():
    """"": strace can look at programs here."""
    try:
        done = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "there is no strace"
    return "" if done.returncode == 0 else done.stderr.strip()


def launched(words, ranks):
    return [str(MPI_RUN), FLAVOUR, "-n", str(ranks), *words] if ranks else list(words)


def run(words, folder, **more):
    done = subprocess.run([str(word) for word in words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False, **more)
    return Run(done.returncode, done.stdout, done.stderr, folder)


def record(words, place, ranks=0, traced=False, options=(), **more):
    """Records a run in place/work into place/run; `traced`: under strace, where it can be."""
    folder = place / "work"
    folder.mkdir(exist_ok=True)
    strace = ["strace", "-ff", "-y", "-s0", "-e", "signal=none", "-e", f"trace={','.join(WRITES)}", "-o", place / "strace"]
    before = strace if traced and not why_no_strace() else []
    done = run(launched([*before, "damaris", "record", "-o", place / "run", *options, *words], ranks), folder, **more)
    done.recording = place / "run"
    done.trace = place / "strace" if before else None
    return done


def one_of_several(attempt, place, is_so):
    """What rules find is a matter of time, and others that use the cores change that for a moment. The result of the first attempt that is so, each in a
    folder of its own; if none is, of the last one."""
    for number in range(TRIES):
        (folder := place / f"try{number}").mkdir(parents=True)
        if is_so(result := attempt(folder)):
            break
    return result


def both(words, place, ranks=0, traced=False, prepare=None, mask=None, **more):
    """The plain run and the recorded one, which must print the same and end the same. prepare: fills each run's folder; mask: of what they
    print, leaves what does not change from run to run."""
    runs = []
    for is_recorded in (False, True):
        folder = place / "work"
        folder.mkdir()
        if prepare:
            prepare(folder)
        runs.append(record(words, place, ranks, traced, **more) if is_recorded else run(launched(words, ranks), folder, **more))
        if not is_recorded:
            runs[0].folder = folder.rename(place / "plain")
    plain, recorded = runs
    for stream in ("out", "err"):
        texts = [getattr(one, stream) for one in runs]
        texts = [mask(text) for text in texts] if mask else texts
        texts = [b"".join(sorted(text.splitlines(True))) for text in texts] if ranks else texts  # ranks print when they like
        assert texts[0].decode() == texts[1].decode(), f"the recorder changes what the program prints to std{stream}"
    assert recorded.status == plain.status, (plain.status, recorded.status, recorded.err)
    return plain, recorded

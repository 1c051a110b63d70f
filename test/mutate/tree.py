"""A copy of the tree with a build folder of its own: mutants go in and out of it, never of the tree that somebody works in.

Before it: mutants.py. After it: mutate.py, which asks what a mutant has made of each stage of tests.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from contextlib import suppress
from functools import cache
from pathlib import Path

CONFIGURE_S, BUILD_S = 600, 3600
MUTANT_BUILD_S = 900  # a header of many files
TEST_BYTES = 8 << 30  # of address space, for each process of a test: a mutant may want all that there is
HANG = "hang"


class TreeError(Exception):
    """The tree cannot be used as it is: a sentence for the user."""


class Tree:
    def __init__(self, source, place, rooms, jobs):
        self.source, self.root, self.rooms, self.jobs = Path(source), Path(place), rooms, jobs
        self.build = self.root / rooms["build"]
        self.mark = f"MUTATE_RUN={os.getpid()}-{time.monotonic_ns()}"
        self.objects = {}  # path -> digest of what the tree as it is compiles to
        self.known_targets = {}  # name -> whether it is one
        self.out = self.root.parent / "output"

    # ---- commands

    def run(self, command, bound_s, cwd=None, environment=None):
        """(exit status or HANG, seconds); what it printed is in self.out. It and all that it started is over afterwards."""
        name, value = self.mark.split("=")
        begun = time.monotonic()
        with open(self.out, "wb") as out:
            process = subprocess.Popen(list(map(str, command)), cwd=cwd or self.root, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       env={**os.environ, **(environment or {}), name: value})
            try:
                status = process.wait(bound_s)
            except subprocess.TimeoutExpired:
                status = HANG
            finally:
                self.end_all()
                process.wait()
        return status, time.monotonic() - begun

    def marked(self):
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as environment:
                if self.mark.encode() in environment.read().split(b"\0"):
                    found.append(int(name))
        return found

    def end_all(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL):
            pids = self.marked()
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            for _ in range(20):
                if not self.marked():
                    return
                time.sleep(0.05)

    def must(self, command, bound_s, what):
        status, _ = self.run(command, bound_s)
        if status != 0:
            raise TreeError(f"{what} failed ({status}): {' '.join(map(str, command))}\n{self.printed()[-3000:]}")

    def printed(self):
        return self.out.read_text(encoding="utf-8", errors="replace")

    # ---- the tree

    def prepare(self, commit):
        """The commit of the project's tree, as it was committed, configured."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        git = ["git", "-C", self.source]
        subprocess.run([*git, "worktree", "prune"], check=True)
        if not (self.root / ".git").exists():
            subprocess.run([*git, "worktree", "add", "-q", "--force", "--detach", self.root, commit], check=True)
        subprocess.run(["git", "-C", self.root, "checkout", "-q", "--force", "--detach", commit], check=True)
        python = self.source / ".venv/bin/python"
        words = [word.replace("{python}", str(python)) for word in self.rooms["configure"]]
        self.must(["cmake", *words], CONFIGURE_S, "configuring the copy")

    def compile(self, targets, bound_s):
        """Whether it compiles."""
        return self.run(["ninja", "-C", self.build, "-j", self.jobs, *targets], bound_s)[0] == 0

    def put(self, mutant):
        path = self.root / mutant.file
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        if lines[mutant.line - 1] != mutant.before:
            raise TreeError(f"{mutant.file}:{mutant.line} is another line than when the mutant was drawn; begin anew, without --resume")
        lines[mutant.line - 1] = mutant.after
        path.write_text("\n".join(lines), encoding="utf-8")
        return lambda: path.write_text(text, encoding="utf-8")

    # ---- what is compiled

    def learn_objects(self):
        self.objects = {path: digest(path) for path in self.build.rglob("*.o")}

    def changed_objects(self, since):
        """Of those that were compiled since then: some differ, or not."""
        return any(digest(path) != self.objects.get(path) for path in self.build.rglob("*.o") if path.stat().st_mtime_ns >= since)

    # ---- tests

    def tests(self):
        """name -> labels."""
        done = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"], capture_output=True, text=True, check=True, timeout=200)
        labels = {}
        for test in json.loads(done.stdout)["tests"]:
            found = [p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"]
            labels[test["name"]] = set(found[0]) if found else set()
        return labels

    def is_target(self, name):
        """Whether ninja builds something of that name, and with it all that it needs."""
        if name not in self.known_targets:
            done = subprocess.run(["ninja", "-C", self.build, "-t", "query", name], capture_output=True, timeout=200, check=False)
            self.known_targets[name] = done.returncode == 0
        return self.known_targets[name]

    def test(self, names, bound_s, stop=True):
        """name -> (passed, skipped or failed, seconds); HANG when the bound was over."""
        results = self.root.parent / "results.xml"
        results.unlink(missing_ok=True)
        chosen = "^(" + "|".join(map(re.escape, names)) + ")$"
        command = ["ctest", "--test-dir", self.build, "-j", self.jobs, "-R", chosen, "--output-on-failure", "--output-junit", results.absolute()]
        limit = ["prlimit", f"--as={TEST_BYTES}", "--"]
        status, _ = self.run([*alone(), *limit, *command, *(["--stop-on-failure"] if stop else [])], bound_s, environment=self.rooms.get("environment"))
        if status == HANG:
            return HANG
        return {case.get("name"): ({"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped"), float(case.get("time") or 0))
                for case in ElementTree.parse(results).getroot().iter("testcase")}


@cache
def alone():
    """With a /dev/shm of its own, where that can be had: what a broken tree leaves there goes with it."""
    prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs mutate /dev/shm && exec "$@"', "sh"]
    return prefix if subprocess.run([*prefix, "true"], capture_output=True, timeout=20, check=False).returncode == 0 else []


def digest(path):
    """Of an object without what only a debugger reads."""
    with tempfile.NamedTemporaryFile(suffix=".o") as stripped:
        done = subprocess.run(["strip", "--strip-debug", "-o", stripped.name, path], capture_output=True, timeout=200, check=False)
        return hashlib.sha256(Path(stripped.name if done.returncode == 0 else path).read_bytes()).hexdigest()

"""The table `processes` of a store: who a process was, how it ended, and how many of the bytes that it wrote were seen."""

import socket
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from damaris.kernel import END, GAP, PROCESS, Functions, Text, number_of


@dataclass
class Process:
    id: int
    is_damaged: bool
    facts: dict[str, str]
    last_words: dict[str, str] | None  # None: it was killed, or became another program without a word
    ended_at: int  # ns of its own clock: of the last words, else of the last call
    begin: int | None
    end: int | None
    seen: int = 0  # bytes
    children: list["Process"] = field(default_factory=list)

    @classmethod
    def of(cls, number: int, texts: list[Text], calls: np.ndarray, damage: str) -> "Process":
        facts: dict[str, str] = {}
        for one in texts:
            if one.what == PROCESS:
                facts |= one.values()
        words = max((one for one in texts if one.what == END), key=lambda one: one.begin, default=None)
        if words and words.values().get("how") == "exec" and len(calls) and calls["begin"].max() > words.begin:
            words = None  # it did not become another program
        begin, end = (int(calls["begin"].min()), int(calls["end"].max())) if len(calls) else (None, None)
        ended_at = words.begin if words else end if end is not None else _int(facts, "monotonic")
        return cls(number, bool(damage), facts, words.values() if words else None, ended_at, begin, end)

    @property
    def shift(self) -> int:
        """ns from its clock to UTC."""
        return _clipped(_int(self.facts, "realtime") - _int(self.facts, "monotonic"))

    @property
    def host(self) -> str:
        return self.facts.get("host", "")

    def see(self, calls: np.ndarray, top: np.ndarray, functions: Functions) -> None:
        """Counts what it gave to the kernel: streams in memory have no object."""
        counted = top & functions.writes_files[calls["function"]] & (calls["object"] != 0)
        if self.last_words:
            counted &= calls["end"] <= self.ended_at
        self.seen = _clipped(int(calls["bytes"][counted].sum()) - _int(self.last_words or {}, "pending"))

    def counted(self) -> int | None:
        """The kernel's count of what it wrote itself, beside what the recorder wrote or left out. The kernel adds that of children that were
        waited for; one that was not must not hide what was not seen, so it is at least what the first thread alone wrote, or what was seen."""
        if self.last_words is None or "wchar" not in self.last_words:
            return None
        beside = _int(self.last_words, "own") + _int(self.last_words, "dropped")
        mine, first_thread = (_int(self.last_words, key) - beside for key in ("wchar", "thread_wchar"))
        theirs = sum(_int(one.last_words, "wchar") if one.last_words else one.seen for one in self.children)
        return _clipped(max(mine - theirs, first_thread, min(mine, self.seen), 0))

    def gaps(self, texts: list[Text]) -> list[dict]:
        """When calls of its threads are missing."""
        earliest = _int(self.facts, "monotonic")
        return [{"process": self.id, "thread": one.object, "begin": self.utc(max(one.begin, earliest)), "end": self.utc(max(one.place, earliest))}
                for one in texts if one.what == GAP]  # fmt: skip

    def row(self, ended: str) -> dict:
        facts = self.facts
        return {
            "id": self.id, "rank": number_of(facts.get("rank")), "ranks": number_of(facts.get("ranks")), "host": self.host,
            "pid": number_of(facts.get("pid")), "parent": number_of(facts.get("parent")), "program": facts.get("program", ""),
            "begin": self.utc(self.begin), "end": self.utc(self.end), "ended": ended, "seen": self.seen, "counted": self.counted(),
        }  # fmt: skip

    def utc(self, time: int | None) -> int | None:
        return None if time is None else _clipped(time + self.shift)


def _clipped(number: int) -> int:
    """To what a column holds; damaged files have any numbers."""
    return min(max(number, -(2**63)), 2**63 - 1)


def _int(values: dict[str, str], key: str) -> int:
    return number_of(values.get(key), 64) or 0


def add_children(processes: list[Process]) -> None:
    """Those that ended while their parent lived; it may have been several programs, one after the other."""
    by_pid = defaultdict(list)
    for one in processes:
        by_pid[one.host, one.facts.get("pid")].append(one)
    for child in processes:
        for parent in by_pid[child.host, child.facts.get("parent")]:
            if parent.last_words and _int(parent.facts, "monotonic") <= child.ended_at <= parent.ended_at:
                parent.children.append(child)
                break


def rows(processes: list[Process]) -> list[dict]:
    add_children(processes)
    last: dict[tuple, int] = {}  # of each pid: when its last program began
    for one in processes:
        key = (one.host, one.facts.get("pid"))
        last[key] = max(last.get(key, 0), _int(one.facts, "monotonic"))

    def ended(one):
        if one.last_words:
            return one.last_words.get("how", "exit")
        if last[one.host, one.facts.get("pid")] > _int(one.facts, "monotonic"):
            return "exec"
        if one.host == socket.gethostname() and Path(f"/proc/{one.facts.get('pid')}").exists():
            return "running"
        return "unknown" if one.is_damaged else "killed"

    return [one.row(ended(one)) for one in processes]

"""The table `objects` of a store: files by the name that they have in the end, communicators, datasets and variables, each once."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from damaris.kernel import DESCRIPTION, PATH, RENAMED, Text, number_of


DELETED = " (deleted)"  # as /proc/self/fd says of a file whose name was removed


@dataclass
class Renames:
    """Where files went, on all hosts."""

    known: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))  # by old path: when, and the new one
    last: dict[tuple[str, int], str] = field(default_factory=dict)  # of a path at a time, what has been found

    def sort(self) -> None:
        for later in self.known.values():
            later.sort()

    def follow(self, path: str, time: int) -> str:
        """The last name of what had this one at a time; a folder takes along what is in it."""
        passed = []
        while (end := self.last.get((path, time))) is None and (step := self.next(path, time)):
            passed.append((path, time))
            time, path = step
        end = end or path
        self.last |= dict.fromkeys(passed, end)
        return end

    def next(self, path: str, time: int) -> tuple[int, str] | None:
        """A name that was removed goes nowhere, whatever gets it later."""
        found = []
        for old in (path, *map(str, PurePosixPath(path).parents)) if self.known and not path.endswith(DELETED) else ():
            later = self.known.get(old, ())
            at = bisect_right(later, time, key=lambda one: one[0])
            if at < len(later):
                found.append((later[at][0], later[at][1] + path[len(old) :]))
        return min(found, default=None)


@dataclass
class Handles:
    """What a process says of the numbers of its objects."""

    process: int
    host: str
    paths: dict[int, str] = field(default_factory=dict)
    described: dict[int, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, process: int, host: str, texts: list[Text]) -> "Handles":
        handles = cls(process, host)
        for one in texts:
            if one.what == PATH:
                handles.paths[one.object] = one.text
            if one.what == DESCRIPTION:
                handles.described[one.object] = one.values()
        return handles

    def numbers(self) -> np.ndarray:
        return np.array(sorted({0, *self.paths, *self.described}), np.uint32)


class Objects:
    """Gives the same thing the same id, whichever process met it, and however often."""

    def __init__(self):
        self.renames = Renames()
        self.shifts: dict[str, int] = {}  # of each host, ns to UTC: one for all its processes, so that its own order is exact
        self.rows: dict[tuple, dict] = {}

    def add_renames(self, handles: Handles, texts: list[Text], shift: int) -> None:
        shift = self.shifts.setdefault(handles.host, shift)
        for one in texts:
            if one.what == RENAMED and one.object in handles.paths:
                self.renames.known[one.text].append((one.begin + shift, handles.paths[one.object]))

    def numbers(self, handles: Handles, first_use: dict[int, int]) -> dict[int, int]:
        """The id of each number of a process; `first_use`: ns of the first call about each."""
        ids = {}
        for number, path in handles.paths.items():
            last = self.renames.follow(path, first_use[number] + self.shifts[handles.host])
            ids[number] = self.id(("file", last.removesuffix(DELETED)), handles.host)
        for number, about in handles.described.items():
            ids[number] = self.described(number, dict(about), handles, ids)
        return ids

    def described(self, number: int, about: dict[str, str], handles: Handles, ids: dict[int, int]) -> int:
        kind, name, parent = about.pop("kind", "?"), about.pop("name", ""), ids.get(number_of(about.pop("parent", "")) or 0)
        if kind == "communicator":
            about.pop("rank", None)  # each member's own
            # One without an id that all members know is another one in each process.
            key: tuple = (kind, about.get("id") or (handles.process, number))
        else:
            key = (kind, parent, name)
        return self.id(key, handles.host, name or about.get("id", ""), parent, about)

    def id(self, key: tuple, host: str, name: str | None = None, parent: int | None = None, attributes: dict[str, str] | None = None) -> int:
        row = self.rows.setdefault(
            key, {"id": len(self.rows) + 1, "kind": key[0], "name": key[-1] if name is None else name, "parent": parent, "host": host, "attributes": {}}
        )
        if row["host"] != host:
            row["host"] = None
        row["attributes"] |= attributes or {}
        return row["id"]

"""The table `objects` of a store: files by the name that they have in the end, communicators, datasets and variables, each once."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np

from damaris.kernel import DESCRIPTION, PATH, RENAMED, Text, number_of


@dataclass
class Renames:
    """Where files went, on one host."""

    known: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))  # by old path: when, and the new one

    def sort(self) -> None:
        for later in self.known.values():
            later.sort()

    def follow(self, path: str, time: int) -> str:
        """The last name of what had this one at a time; a folder takes along what is in it."""
        while step := self.next(path, time):
            time, path = step
        return path

    def next(self, path: str, time: int) -> tuple[int, str] | None:
        found = []
        for old in (path, *map(str, PurePosixPath(path).parents)) if self.known else ():
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
                handles.paths[one.object] = one.text.removesuffix(" (deleted)")
            if one.what == DESCRIPTION:
                handles.described[one.object] = one.values()
        return handles


class Objects:
    """Gives the same thing the same id, whichever process met it, and however often."""

    def __init__(self):
        self.renames: dict[str, Renames] = defaultdict(Renames)  # by host
        self.rows: dict[tuple, dict] = {}

    def add_renames(self, handles: Handles, texts: list[Text]) -> None:
        for one in texts:
            if one.what == RENAMED and one.object in handles.paths:
                self.renames[handles.host].known[one.text].append((one.begin, handles.paths[one.object]))

    def numbers(self, handles: Handles, first_use: np.ndarray) -> dict[int, int]:
        """The id of each number of a process; `first_use`: ns of the first call about each."""
        renames, ids = self.renames[handles.host], {}
        for number, path in handles.paths.items():
            ids[number] = self.id(("file", renames.follow(path, int(first_use[number]))), handles.host)
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

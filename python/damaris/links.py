"""Which call of a client a dataset that a server stores comes from: the table `links` of a store, and the branches of `calls`.

Each block that a client publishes has a key: the simulation's run, variable, step, source (the client's id) and block. The call that published it and the server's
call that stores it both have it in the trace, so no clock is asked unless a program writes the same block twice.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from damaris.calls import Part, levels
from damaris.kernel import Functions

KEYED = np.dtype([("run", "i8"), ("object", "i8"), ("step", "i8"), ("place", "i8"), ("time", "i8"), ("part", "i4"), ("call", "i8"), ("bytes", "i8")])


@dataclass(slots=True)
class Linked:
    """Of a process with calls that belong to other processes' calls: the ids of each call's parent, root and branch, -1 for no parent."""

    parent: np.ndarray
    root: np.ndarray
    branch: np.ndarray


@dataclass
class Links:
    functions: Functions
    parts: list[Part] = field(default_factory=list)
    written: list[np.ndarray] = field(default_factory=list)
    stored: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self):
        self.is_server = np.array([layer == "server" for layer in self.functions.layer])

    def add(self, part: Part, blocks: np.ndarray) -> None:
        call = blocks["call"]
        found = np.zeros(len(blocks), KEYED)
        found["object"], found["step"], found["place"] = part.objects[part.positions(call)], part.calls["offset"][call], blocks["place"]
        found["run"] = blocks["run"]
        stores = self.is_server[part.calls["function"][call]]
        found["time"] = np.where(stores, part.calls["end"][call], part.calls["begin"][call]) + part.shift
        found["part"], found["call"], found["bytes"] = len(self.parts), call, blocks["bytes"]
        self.parts.append(part)
        self.written.append(found[~stores])
        self.stored.append(found[stores])

    def table(self) -> pa.Table:
        """Sets `linked` of the parts of servers."""
        written, stored = (np.concatenate(some or [np.zeros(0, KEYED)]) for some in (self.written, self.stored))
        written, stored = paired(written, stored)
        across = written["part"] != stored["part"]  # in place the server's call lies in one of the client already
        self.branch(written[across], stored[across])
        first = np.array([part.first for part in self.parts] or [0], np.int64)
        inside = np.array([self.parts[part].calls["parent"][call] for part, call in zip(stored["part"], stored["call"], strict=True)], np.int64)
        ids = {"call": first[stored["part"]] + stored["call"], "writer": first[written["part"]] + written["call"]}
        return pa.table(ids | {"bytes": stored["bytes"], "inside": pa.array(first[stored["part"]] + inside, mask=inside < 0)})

    def branch(self, written: np.ndarray, stored: np.ndarray) -> None:
        """Of several writers the last one is the parent: with its block the dataset was there."""
        order = np.lexsort((written["time"], stored["call"], stored["part"]))
        written, stored = written[order], stored[order]
        last = np.ones(len(stored), bool)
        last[:-1] = (stored["part"][1:] != stored["part"][:-1]) | (stored["call"][1:] != stored["call"][:-1])
        written, stored = written[last], stored[last]
        for number in np.unique(stored["part"]).tolist():
            mine = stored["part"] == number
            self.parts[number].linked = self.linked(self.parts[number], stored["call"][mine], written[mine])

    def linked(self, part: Part, calls: np.ndarray, writers: np.ndarray) -> Linked:
        inside = part.calls["parent"]
        root = part.first + part.nesting.root.astype(np.int64)
        made = Linked(np.where(inside < 0, -1, part.first + inside), root, root.copy())
        for call, writer in zip(calls.tolist(), writers, strict=True):
            of = self.parts[writer["part"]]
            made.parent[call] = of.first + writer["call"]
            made.root[call] = of.first + int(of.nesting.root[writer["call"]])
            made.branch[call] = part.first + call
        is_linked = np.zeros(len(inside), bool)
        is_linked[calls] = True
        for rows in levels(part.calls):
            rows = rows[~is_linked[rows]]
            made.root[rows], made.branch[rows] = made.root[inside[rows]], made.branch[inside[rows]]
        return made


def paired(written: np.ndarray, stored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each block that is stored with the last call before that wrote it."""
    keys = np.concatenate([written, stored])[["run", "object", "step", "place"]]
    key = np.unique(keys, return_inverse=True)[1].reshape(-1)
    time = np.concatenate([written["time"], stored["time"]])
    rank = np.empty(len(time), np.int64)
    rank[np.argsort(time, kind="stable")] = np.arange(len(time))
    position = key * len(time) + rank
    of_written, of_stored = position[: len(written)], position[len(written) :]
    order = np.argsort(of_written)
    written, of_written = written[order], of_written[order]
    first = np.searchsorted(of_written, key[len(of_written) :] * len(time))
    at = np.maximum(np.searchsorted(of_written, of_stored) - 1, first)
    known = at < len(written)
    known[known] = key[: len(written)][order][at[known]] == key[len(of_written) :][known]
    return written[at[known]], stored[known]

"""The table `calls` of a store: what is computed of each call, and its files of Parquet, a window of time each."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from damaris.kernel import FAILED, LAYERS, Functions
from damaris.progress import progress

if TYPE_CHECKING:
    from damaris.links import Linked

SLAB_ROWS = 512 * 1024  # of a file, about, so that a window of time touches few
SAMPLE = 16  # of so many calls one is looked at to find windows of equal size
DELTA = ("id", "parent", "root", "branch", "begin", "end", "offset", "io")
IO = (1 << LAYERS.index("mpi")) - 1  # bits of the layers that do I/O


def levels(calls: np.ndarray) -> list[np.ndarray]:
    """The indices of the calls inside others, by depth: parents come before their children."""
    inside = np.flatnonzero(calls["parent"] >= 0)
    depth = calls["depth"][inside]
    order = np.argsort(depth, kind="stable")
    return np.split(inside[order], np.flatnonzero(np.diff(depth[order])) + 1) if len(inside) else []


@dataclass(slots=True)
class Nesting:
    """Of each call of a process: index of the outermost one around it, whether none of its layer is around it, ns in calls directly inside
    it, and the ordinal of the outermost I/O call in its process."""

    root: np.ndarray
    top: np.ndarray
    below: np.ndarray
    io: np.ndarray

    @classmethod
    def of(cls, calls: np.ndarray, functions: Functions) -> "Nesting":
        layer = functions.layer_bit[calls["function"]]
        root, around = np.arange(len(calls), dtype=np.uint32), np.zeros(len(calls), np.uint8)
        below = np.zeros(len(calls), np.int64)
        nested = levels(calls)
        for rows in nested:
            parent = calls["parent"][rows]
            root[rows] = root[parent]
            around[rows] = around[parent] | layer[parent]
            np.add.at(below, parent, calls["end"][rows] - calls["begin"][rows])
        outermost = np.flatnonzero((layer & IO != 0) & (around & IO == 0))
        io = np.full(len(calls), -1, np.int32)
        io[outermost[np.argsort(calls["begin"][outermost], kind="stable")]] = np.arange(len(outermost), dtype=np.int32)
        for rows in nested:
            rows = rows[around[rows] & IO != 0]
            io[rows] = io[calls["parent"][rows]]
        return cls(root, around & layer == 0, below, io)


@dataclass(slots=True)
class Part:
    """The calls of a process."""

    calls: np.ndarray
    nesting: Nesting
    process: int
    first: int  # id of its first call
    shift: int  # ns from its clock to UTC
    numbers: np.ndarray  # that its texts explain, in order, behind a 0; in damaged files they may be large
    objects: np.ndarray  # the id of each; of 0 none
    linked: "Linked | None" = None  # of a server whose calls belong to those of clients

    def positions(self, rows: slice) -> np.ndarray:
        """Of the objects of calls in `numbers`; 0 for those that no text explains."""
        handles = self.calls["object"][rows]
        at = np.searchsorted(self.numbers, handles, "right") - 1
        return np.where(self.numbers[at] == handles, at, 0)

    def ids(self, name: str, rows: slice) -> np.ndarray:
        """Of the parents, roots or branches of calls; -1 for no parent."""
        if self.linked is not None:
            return getattr(self.linked, name)[rows]
        inside = self.calls["parent"][rows] if name == "parent" else self.nesting.root[rows].astype(np.int64)
        return np.where(inside < 0, -1, self.first + inside)

    def threads(self) -> list[tuple[int, int]]:
        if not len(self.calls):
            return []
        edges = [0, *(np.flatnonzero(np.diff(self.calls["thread"])) + 1).tolist(), len(self.calls)]
        return list(zip(edges, edges[1:], strict=False))


def masked(values: np.ndarray, unknown: np.ndarray) -> pa.Array:
    return pa.array(values, mask=unknown)


class Places:
    """What the place of a call is, by its function: an offset, a peer with a tag, or a root."""

    def __init__(self, functions: Functions):
        self.has_offset, self.is_message, self.is_root = (
            np.array([place in which for place in functions.place]) for which in (("offset", "step"), ("peer",), ("root",))
        )

    def columns(self, function: np.ndarray, place: np.ndarray) -> dict[str, pa.Array]:
        message, root = self.is_message[function], self.is_root[function]
        peer, tag = (place >> 32).astype(np.int32), place.astype(np.int32)
        peer[root] = tag[root]
        return {
            "offset": masked(place, ~self.has_offset[function] | (place < 0)),
            "peer": masked(peer, ~(message | root) | (peer < 0)),
            "tag": masked(tag, ~message | (tag < 0)),
        }


class Slabs:
    """Writes parts as files of some rows each, in the order of time; in a file by process, thread, begin."""

    def __init__(self, parts: list[Part], functions: Functions):
        self.parts = [(part, thread) for part in parts for thread in part.threads()]
        self.places = Places(functions)
        self.words = {name: pa.array(getattr(functions, name)) for name in ("layer", "kind")} | {"function": pa.array(functions.name)}

    def edges(self) -> list[int]:
        samples = [part.calls["begin"][first:end:SAMPLE] + part.shift for part, (first, end) in self.parts]
        begins = np.sort(np.concatenate(samples or [np.empty(0, np.int64)]))
        return np.unique(begins[:: SLAB_ROWS // SAMPLE]).tolist()

    def write(self, folder: Path) -> None:
        folder.mkdir()
        edges = self.edges()
        at = [first for _, (first, _) in self.parts]
        for number, until in enumerate(progress([*edges[1:], None], "write") if edges else [None]):
            pieces = []
            for which, (part, (_, end)) in enumerate(self.parts):
                last = end if until is None else bisect_left(part.calls["begin"], until - part.shift, at[which], end)
                if last > at[which]:
                    pieces.append((part, slice(at[which], last)))
                at[which] = last
            self.write_slab(folder / f"{number:05}.parquet", pieces)

    def write_slab(self, path: Path, pieces: list[tuple[Part, slice]]) -> None:
        def joined(column, dtype):
            return np.concatenate([column(part, rows) for part, rows in pieces] or [np.empty(0, dtype)]).astype(dtype, copy=False)

        def call(name, dtype):
            return joined(lambda part, rows: part.calls[name][rows], dtype)

        def nesting(name, dtype):
            return joined(lambda part, rows: getattr(part.nesting, name)[rows], dtype)

        def of_part(name, dtype):
            return joined(lambda part, rows: np.full(rows.stop - rows.start, getattr(part, name), dtype), dtype)

        shift, function = of_part("shift", np.int64), call("function", np.int32)
        parent, root, branch = (joined(lambda part, rows, name=name: part.ids(name, rows), np.int64) for name in ("parent", "root", "branch"))
        flags, io = call("flags", np.uint8), nesting("io", np.int32)
        table = {
            "id": joined(lambda part, rows: np.arange(part.first + rows.start, part.first + rows.stop), np.int64),
            "parent": masked(parent, parent < 0), "root": root, "branch": branch, "process": of_part("process", np.int32),
            "thread": call("thread", np.int32), "begin": call("begin", np.int64) + shift, "end": call("end", np.int64) + shift,
            "depth": call("depth", np.uint8),
            **{name: pa.DictionaryArray.from_arrays(pa.array(function), words) for name, words in self.words.items()},
            "object": joined(lambda part, rows: part.objects[part.positions(rows)], np.int32),
            "handle": call("object", np.int32), **self.places.columns(function, call("offset", np.int64)),
            "bytes": call("bytes", np.int64), "error": masked(call("error", np.int32), flags & FAILED == 0),
            "top": nesting("top", bool), "below": nesting("below", np.int64), "io": masked(io, io < 0), "flags": flags,
        }  # fmt: skip
        table = pa.table(table)
        pq.write_table(table, path, compression="zstd", compression_level=1, row_group_size=SLAB_ROWS // 4,
                       use_dictionary=[name for name in table.column_names if name not in (*DELTA, "below")],
                       column_encoding=dict.fromkeys(DELTA, "DELTA_BINARY_PACKED"))  # fmt: skip

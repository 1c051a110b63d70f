"""Writes a store as unify does, of more calls than this machine could unify at once: one window of time after the other.

In each window each process has a message to the next one, collective writes with three writes of files inside each, and a barrier.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from damaris import kernel, levels, store
from damaris.calls import SLAB_ROWS, Nesting, Part, Slabs
from damaris.unify import SCHEMAS

GROUP = 4  # three writes and the call around them
WINDOW_NS = 100_000_000


class LargeStore:
    def __init__(self, folder: Path, calls: int, processes: int):
        self.folder, self.processes = folder, processes
        self.each = max(2 * GROUP, min(SLAB_ROWS, calls) // processes // GROUP * GROUP)  # calls of a process in a window
        self.windows = max(1, calls // (self.each * processes))
        self.calls = self.each * self.windows * processes
        self.functions = kernel.functions()
        self.layers = np.array([kernel.LAYERS.index(one) if one in kernel.LAYERS else len(kernel.LAYERS) for one in self.functions.layer], np.uint8)
        self.random = np.random.default_rng(1)
        self.lanes: list[tuple[np.ndarray, ...]] = []  # of each window, processes x calls
        self.messages, self.collectives = [], []

    def write(self) -> None:
        (self.folder / "calls").mkdir(parents=True)
        slabs = Slabs([], self.functions)
        for window in range(self.windows):
            calls = self.window(window)
            nesting = self.nesting(calls, window)
            first = np.arange(self.processes) * self.each * self.windows + window * self.each
            parts = [Part(calls[one], Nesting(*(column[one] for column in nesting)), one, int(first[one]), 0, np.zeros(1, np.uint32), np.zeros(1, np.int32))
                     for one in range(self.processes)]  # fmt: skip
            slabs.write_slab(self.folder / f"calls/{window:05}.parquet", [(part, slice(0, self.each)) for part in parts])
            self.lanes.append((calls["begin"].copy(), calls["end"].copy(), self.layers[calls["function"]]))
            self.meet(window, parts)
        self.write_others()

    def window(self, window: int) -> np.ndarray:
        """Of each process groups of writes, then a send, a receive, a write, and a barrier until the window ends."""
        shape, random, number = (self.processes, self.each), self.random, self.functions.name.index
        calls = np.zeros(shape, kernel.CALL)
        room = WINDOW_NS * 0.8 / self.each
        calls["begin"] = window * WINDOW_NS + ((np.arange(self.each) + random.random(shape) * 0.5) * room).astype("i8")
        calls["end"] = calls["begin"] + (room * (0.1 + 0.4 * random.random(shape))).astype("i8")
        calls["parent"], calls["offset"], calls["bytes"], calls["object"] = -1, calls["begin"], 1 << random.integers(9, 17, shape), 1
        calls["function"] = number("pwrite")
        outer = np.arange(0, self.each - GROUP, GROUP)
        calls["function"][:, outer] = number("MPI_File_write_at_all")
        calls["end"][:, outer] = calls["end"][:, outer + GROUP - 1] + 20
        for inner in range(1, GROUP):
            calls["parent"][:, outer + inner], calls["depth"][:, outer + inner] = outer, 1
        for column, name in enumerate(("MPI_Send", "MPI_Recv", "pwrite", "MPI_Barrier"), self.each - GROUP):
            calls["function"][:, column] = number(name)
        to = np.arange(self.processes)
        for column, peer in ((self.each - GROUP, to + 1), (self.each - GROUP + 1, to - 1)):
            calls["offset"][:, column] = peer % self.processes << 32
        calls["end"][:, -1] = (window + 1) * WINDOW_NS - 1000
        return calls

    def nesting(self, calls: np.ndarray, window: int) -> tuple[np.ndarray, ...]:
        """What Nesting.of finds: root, top, below, io."""
        at = np.broadcast_to(np.arange(self.each), calls.shape)
        below = np.zeros(calls.shape, np.int64)
        duration = calls["end"] - calls["begin"]
        outer = np.arange(0, self.each - GROUP, GROUP)
        for inner in range(1, GROUP):
            below[:, outer] += duration[:, outer + inner]
        io = at // GROUP + window * (self.each // GROUP)
        return np.where(calls["parent"] < 0, at, calls["parent"]).astype(np.uint32), np.ones(calls.shape, bool), below, io.astype(np.int32)

    def meet(self, window: int, parts: list[Part]) -> None:
        for part, target in zip(parts, [*parts[1:], parts[0]], strict=True):
            sent, done = self.each - GROUP, self.each - GROUP + 1
            self.messages.append((part.first + sent, target.first + done, target.first + done, part.process, target.process,
                                  int(part.calls["begin"][sent]), int(target.calls["end"][done]), 8, 2, 0))  # fmt: skip
            self.collectives.append((window, 2, part.first + self.each - 1, part.process, part.process))

    def write_others(self) -> None:
        processes, host = range(self.processes), "node"
        rows = {
            "objects": [{"id": 2, "kind": "communicator", "name": "MPI_COMM_WORLD", "host": host}],
            "processes": [{"id": one, "rank": one, "ranks": self.processes, "host": host, "pid": 1000 + one, "parent": 1, "program": "/bin/model",
                           "begin": 0, "end": self.windows * WINDOW_NS, "ended": "exit", "seen": 0} for one in processes],
        }  # fmt: skip
        for name, schema in SCHEMAS.items():
            pq.write_table(pa.Table.from_pylist(rows.get(name, []), pa.schema(schema.items())), self.folder / f"{name}.parquet")
        columns = {"messages": ("send", "recv", "done", "source", "target", "sent", "received", "bytes", "comm", "tag"),
                   "collectives": ("instance", "comm", "call", "process", "rank"), "requests": ("start", "done", "flags"),
                   "members": ("comm", "rank", "process"), "opens": ("call", "flags"),
                   "links": ("call", "writer", "bytes", "inside")}  # fmt: skip
        found = {"messages": self.messages, "collectives": self.collectives, "members": [(2, one, one) for one in processes]}
        for name, words in columns.items():
            values = np.array(found.get(name, []), np.int64).reshape(-1, len(words))
            pq.write_table(pa.table(dict(zip(words, values.T, strict=True))), self.folder / f"{name}.parquet")
        lanes = (tuple(np.concatenate([window[column][one] for window in self.lanes]) for column in range(3)) for one in processes)
        levels.write([(one, 0) for one in processes], lanes, 0, self.windows * WINDOW_NS, self.folder / "levels")
        about = {"format": "damaris store", "version": store.VERSION, "calls": self.calls, "moving": self.functions.moving, "raw": {}, "running": 0}
        (self.folder / "store.json").write_text(json.dumps(about) + "\n")

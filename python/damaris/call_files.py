"""The calls of a window of time, without a look at all files of the store: their footers, read once, say which parts can have some."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from damaris.kernel import LAYERS
from damaris.store import quoted

COLUMNS = ["process", "thread", "begin", "end", "layer"]


@dataclass(frozen=True)
class Calls:
    """Of each: process << 32 | thread, begin and end in ns, its layer's number; by thread and begin, those around others first."""

    key: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    layer: np.ndarray


class CallFiles:
    def __init__(self, store: Path):
        self.paths = sorted((store / "calls").glob("*.parquet"))
        self.footers = [pq.read_metadata(path) for path in self.paths]
        parts = [(file, group) for file, footer in enumerate(self.footers) for group in range(footer.num_row_groups) if footer.row_group(group).num_rows]
        self.parts = np.array(parts, np.int64).reshape(-1, 2)  # file and row group
        names = self.footers[0].schema.names if self.footers else []
        found = {}
        for name in ("begin", "end", "process"):
            statistics = [self.footers[file].row_group(group).column(names.index(name)).statistics for file, group in parts]
            found[name] = [(one.min, one.max) if one and one.has_min_max else (-(2**63), 2**63 - 1) for one in statistics]
        self.begin = np.array([low for low, _ in found["begin"]], np.int64)
        self.end = np.array([high for _, high in found["end"]], np.int64)
        self.processes = np.array(found["process"], np.int64).reshape(-1, 2)
        self.rows = np.array([self.footers[file].row_group(group).num_rows for file, group in parts], np.int64)

    def inside(self, begin: int, end: int, first: int, last: int) -> np.ndarray:
        """Which row groups have calls between two times, of processes between two numbers."""
        return (self.begin < end) & (self.end > begin) & (self.processes[:, 0] <= last) & (self.processes[:, 1] >= first)

    def count(self, begin: int, end: int, first: int, last: int) -> int:
        """How many calls `read` goes through."""
        return int(self.rows[self.inside(begin, end, first, last)].sum())

    def touched(self, begin: int, end: int, first: int, last: int) -> dict[int, list[int]]:
        """The same row groups, of each file."""
        found: dict[int, list[int]] = {}
        for file, group in self.parts[self.inside(begin, end, first, last)].tolist():
            found.setdefault(file, []).append(group)
        return found

    def table(self, begin: int, end: int, first: int = 0, last: int = 2**31) -> str:
        """As SQL has it, a table of fewer files than `calls`."""
        files = list(self.touched(begin, end, first, last)) or list(range(len(self.paths)))[:1]
        return "calls" if len(files) > len(self.paths) / 2 or not files else f"read_parquet([{', '.join(quoted(self.paths[file]) for file in files)}])"

    def read(self, begin: int, end: int, first: int, last: int) -> Calls:
        pieces = [self.piece(file, groups, begin, end, first, last) for file, groups in self.touched(begin, end, first, last).items()]
        columns = [np.concatenate(column) for column in zip(*pieces, strict=True)] or [np.zeros(0, np.int64)] * 4
        if len(pieces) > 1:  # each is in order, and the earlier one comes first
            order = np.argsort(columns[0], kind="stable")
            columns = [column[order] for column in columns]
        return Calls(*columns)

    def piece(self, file: int, groups: list[int], begin: int, end: int, first: int, last: int) -> tuple[np.ndarray, ...]:
        with pq.ParquetFile(self.paths[file], metadata=self.footers[file], memory_map=True, read_dictionary=["layer"]) as parquet:
            table = parquet.read_row_groups(groups, COLUMNS)
        process, thread, begins, ends = (table.column(name).to_numpy() for name in COLUMNS[:4])
        inside = (begins < end) & (ends > begin) & (process >= first) & (process <= last)
        layer = numbered(table.column("layer"))
        return process[inside].astype(np.int64) << 32 | thread[inside], begins[inside], ends[inside], layer[inside]


def numbered(layers: pa.ChunkedArray) -> np.ndarray:
    """Numbers of layers; of those that are not known here a larger one."""
    def number(word: str) -> int:
        return LAYERS.index(word) if word in LAYERS else len(LAYERS)

    chunks = [np.array([number(word) for word in chunk.dictionary.to_pylist()], np.uint8)[chunk.indices.to_numpy()] for chunk in layers.chunks]
    return np.concatenate(chunks or [np.zeros(0, np.uint8)])

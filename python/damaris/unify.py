"""`damaris unify RUN`: makes the store of a recording, Parquet files that DuckDB and others read, out of its raw files."""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from damaris import kernel
from damaris.errors import Refused
from damaris.progress import progress

VERSION = 1
SLAB_ROWS = 512 * 1024  # of calls in a file, so that a window of time touches few
DELTA = ("id", "parent", "root", "begin", "end", "offset")


def functions() -> list[dict]:
    """The recorder's functions, by number."""
    path = kernel.libraries() / "damaris/functions.json"
    if not path.exists():
        raise Refused(f"'{path}', which names the recorded functions, is not there; build or install damaris again")
    return json.loads(path.read_text())


class Tables:
    """The recording's functions as arrays by number."""

    def __init__(self):
        known = functions()
        size = max(one["number"] for one in known) + 1
        self.name, self.layer, self.kind = (["?"] * size for _ in range(3))
        for one in known:
            self.name[one["number"]], self.layer[one["number"]], self.kind[one["number"]] = one["name"], one["layer"], one["kind"]
        self.place = [None] * size
        for one in known:
            self.place[one["number"]] = one["place"]
        self.roles = bytes(
            (kernel.SEEKS * (kind == "seek")) | (kernel.SEQUENTIAL * (kind in ("read", "write"))) | (kernel.OFFSET * (place == "offset"))
            for kind, place in zip(self.kind, self.place, strict=True))  # fmt: skip


def facts_of(texts) -> dict:
    return dict(line.split("=", 1) for one in texts if one.what == kernel.PROCESS for line in one.text.splitlines() if "=" in line)


def tops(calls, layers) -> np.ndarray:
    """Whether a call has no ancestor of its layer in its thread."""
    layer = np.asarray(layers)[calls["function"]]
    top = np.ones(len(calls), bool)
    parent = calls["parent"].copy()
    while (inside := parent >= 0).any():
        top &= ~(inside & (layer[parent] == layer))
        parent = np.where(inside, calls["parent"][parent], -1)
    return top


def roots(calls) -> np.ndarray:
    root = np.arange(len(calls))
    while ((above := calls["parent"][root]) >= 0).any():
        root = np.where(above >= 0, above, root)
    return root


class Store:
    """Collects processes and writes the tables."""

    def __init__(self, tables):
        self.tables = tables
        self.parts, self.objects, self.processes, self.losses = [], [], [], []
        self.names = {}
        self.rows = 0

    def add(self, path, decoded):
        facts = facts_of(decoded.texts)
        process = len(self.processes)
        calls = decoded.calls
        shift = int(facts.get("realtime", 0)) - int(facts.get("monotonic", 0))
        numbers = np.zeros(max([one.object for one in decoded.texts], default=0) + 1, np.int64)
        for one in decoded.texts:
            if one.what == kernel.PATH:
                numbers[one.object] = self.object(one.text, facts.get("host", ""))
            if one.what == kernel.LOSS:
                self.losses.append((process, one.text, one.place))
        if decoded.damage:
            self.losses.append((process, f"{path.name}: {decoded.damage}", -1))
        self.processes.append({
            "id": process, "rank": int(facts["rank"]) if facts.get("rank", "").isdigit() else -1, "pid": int(facts.get("pid", -1)),
            "parent": int(facts.get("parent", -1)), "host": facts.get("host", ""), "program": facts.get("program", ""),
            "begin": int(calls["begin"].min()) + shift if len(calls) else None, "end": int(calls["end"].max()) + shift if len(calls) else None,
        })  # fmt: skip
        known = np.where(calls["object"] < len(numbers), calls["object"], 0)
        moved = np.int64(shift)
        self.parts.append({
            "id": self.rows + np.arange(len(calls)), "parent": np.where(calls["parent"] < 0, -1, calls["parent"] + self.rows),
            "root": self.rows + roots(calls), "process": np.full(len(calls), process, np.int32), "thread": calls["thread"].astype(np.int32),
            "begin": calls["begin"].astype(np.int64) + moved, "end": calls["end"].astype(np.int64) + moved, "depth": calls["depth"],
            "function": calls["function"], "object": numbers[known], "handle": calls["object"].astype(np.int32), "offset": calls["offset"],
            "bytes": calls["bytes"].astype(np.int64), "error": calls["error"], "top": tops(calls, self.tables.layer),
        })  # fmt: skip
        self.rows += len(calls)

    def object(self, name, host):
        name = name.removesuffix(" (deleted)")
        if name not in self.names:
            self.names[name] = len(self.names) + 1
            self.objects.append({"id": self.names[name], "kind": "file", "name": name, "host": host})
        return self.names[name]

    def write(self, folder):
        columns = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]} if self.parts else {}
        order = np.argsort(columns["begin"], kind="stable") if columns else []
        (folder / "calls").mkdir()
        for number, at in enumerate(range(0, max(len(order), 1), SLAB_ROWS)):
            slab = order[at : at + SLAB_ROWS]
            slab = slab[np.lexsort((columns["begin"][slab], columns["thread"][slab], columns["process"][slab]))]
            self.write_calls(folder / f"calls/{number:05}.parquet", {name: values[slab] for name, values in columns.items()})
        for name, rows, schema in (
            ("objects", self.objects, {"id": pa.int64(), "kind": pa.string(), "name": pa.string(), "host": pa.string()}),
            ("processes", self.processes, {"id": pa.int32(), "rank": pa.int32(), "pid": pa.int32(), "parent": pa.int32(), "host": pa.string(),
                                           "program": pa.string(), "begin": pa.int64(), "end": pa.int64()}),
            ("losses", [dict(zip(("process", "why", "calls"), one, strict=True)) for one in self.losses],
             {"process": pa.int32(), "why": pa.string(), "calls": pa.int64()}),
        ):  # fmt: skip
            pq.write_table(pa.Table.from_pylist(rows, pa.schema(schema.items())), folder / f"{name}.parquet", compression="zstd")

    def write_calls(self, path, columns):
        number = columns.pop("function")
        arrays = {name: pa.array(values) for name, values in columns.items()}
        for name, words in (("layer", self.tables.layer), ("kind", self.tables.kind), ("function", self.tables.name)):
            arrays[name] = pa.DictionaryArray.from_arrays(pa.array(number.astype(np.int32)), pa.array(words)).cast(pa.string())
        table = pa.table(arrays)
        plain = [name for name in table.column_names if name not in DELTA]
        pq.write_table(table, path, compression="zstd", compression_level=1, row_group_size=SLAB_ROWS // 4, use_dictionary=plain,
                       column_encoding={name: "DELTA_BINARY_PACKED" for name in DELTA})  # fmt: skip


def unify(run: Path) -> None:
    """Makes RUN/store. What an interrupted one left is made anew."""
    raw = sorted((run / "raw").glob("*.trace"))
    if not raw:
        raise Refused(f"'{run}' is no recording: it has no raw/*.trace; make one with 'damaris record -o {run} PROGRAM'")
    tables = Tables()
    store = Store(tables)
    for path in progress(raw, "unify"):
        try:
            store.add(path, kernel.decode(path, tables.roles))
        except Refused as refused:
            store.losses.append((-1, str(refused), -1))
    aside = Path(tempfile.mkdtemp(prefix=".store.", dir=run))
    try:
        store.write(aside)
        (aside / "store.json").write_text(json.dumps({"format": "damaris store", "version": VERSION, "calls": store.rows}) + "\n")
        shutil.rmtree(run / "store", ignore_errors=True)
        aside.rename(run / "store")
    finally:
        shutil.rmtree(aside, ignore_errors=True)

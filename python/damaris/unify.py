"""Makes the store of a recording, Parquet files that DuckDB and others read, out of its raw files."""

import fcntl
import json
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from damaris import kernel, levels, processes, raw, store
from damaris.calls import Nesting, Part, Slabs
from damaris.errors import Refused
from damaris.links import Links
from damaris.messages import Meetings
from damaris.objects import Handles, Objects
from damaris.progress import progress

SCHEMAS = {
    "objects": {"id": pa.int32(), "kind": pa.string(), "name": pa.string(), "parent": pa.int32(), "host": pa.string(),
                "attributes": pa.map_(pa.string(), pa.string())},
    "processes": {"id": pa.int32(), "rank": pa.int32(), "ranks": pa.int32(), "host": pa.string(), "pid": pa.int32(), "parent": pa.int32(),
                  "program": pa.string(), "begin": pa.int64(), "end": pa.int64(), "ended": pa.string(), "seen": pa.int64(),
                  "counted": pa.int64()},
    "losses": {"process": pa.int32(), "why": pa.string(), "calls": pa.int64()},
    "gaps": {"process": pa.int32(), "thread": pa.int64(), "begin": pa.int64(), "end": pa.int64()},
}  # fmt: skip


class Store:
    """Collects the processes of a recording, and writes the tables."""

    def __init__(self, files: list[Path]):
        self.files = files
        self.functions = kernel.functions()
        self.parts: list[Part] = []
        self.handles: list[Handles] = []
        self.requests: list[np.ndarray] = []
        self.blocks: list[np.ndarray] = []
        self.processes: list[processes.Process] = []
        self.losses: list[dict] = []
        self.gaps: list[dict] = []
        self.objects = Objects()
        self.rows = 0

    def add(self, source: raw.Source) -> None:
        number = len(self.processes)
        try:
            decoded = kernel.decode(source.pieces, self.functions.roles)
        except Refused as refused:
            empty = next((path for path, at, size in source.pieces if not size and is_empty(path)), None)
            self.lose(None, f"{empty}: the disk was full, or the process was killed before its first call" if empty else str(refused))
            return
        process = processes.Process.of(number, decoded.texts, decoded.calls, decoded.damage)
        nesting = Nesting.of(decoded.calls, self.functions)
        process.see(decoded.calls, nesting.top, self.functions)
        handles = Handles.of(number, process.host, decoded.texts)
        self.objects.add_renames(handles, decoded.texts, process.shift)
        for one in decoded.texts:
            if one.what == kernel.LOSS:
                self.lose(number, one.text, one.place if one.place > 0 else None)
        for damage in (*source.damages, *filter(None, [decoded.damage])):
            self.lose(number, f"{source.name}: {damage}")
        self.gaps += process.gaps(decoded.texts)
        self.processes.append(process)
        self.handles.append(handles)
        self.requests.append(decoded.requests)
        self.blocks.append(decoded.blocks)
        self.parts.append(Part(decoded.calls, nesting, number, self.rows, process.shift, handles.numbers(), np.zeros(1, np.int32)))
        self.rows += len(decoded.calls)

    def lose(self, process: int | None, why: str, calls: int | None = None) -> None:
        self.losses.append({"process": process, "why": why, "calls": calls})

    def name_objects(self) -> None:
        """When all processes are known: one may have renamed what another wrote."""
        self.objects.renames.sort()
        for part, handles in zip(self.parts, self.handles, strict=True):
            first_use = np.full(len(part.numbers), np.iinfo(np.int64).max)
            if self.objects.renames.known:
                np.minimum.at(first_use, part.positions(slice(None)), part.calls["begin"])
            ids = self.objects.numbers(handles, dict(zip(part.numbers.tolist(), first_use.tolist(), strict=True)))
            part.objects = np.array([ids.get(number, 0) for number in part.numbers.tolist()], np.int32)

    def meetings(self) -> Meetings:
        found = Meetings(self.functions)
        for part, handles, requests in zip(self.parts, self.handles, self.requests, strict=True):
            found.add(part, handles, requests)
        return found

    def links(self) -> pa.Table:
        found = Links(self.functions)
        for part, blocks in zip(self.parts, self.blocks, strict=True):
            found.add(part, blocks)
        return found.table()

    def opens(self) -> pa.Table:
        """What files were opened for: flags as of open(2)."""
        has_flags = np.array([place == "flags" for place in self.functions.place])
        rows = [np.flatnonzero(has_flags[part.calls["function"]] & (part.calls["offset"] >= 0)) for part in self.parts]
        call = [part.first + mine for part, mine in zip(self.parts, rows, strict=True)]
        flags = [part.calls["offset"][mine] for part, mine in zip(self.parts, rows, strict=True)]
        return pa.table({name: np.concatenate(some or [np.empty(0, np.int64)]) for name, some in (("call", call), ("flags", flags))})

    def write(self, folder: Path) -> None:
        self.name_objects()
        links = self.links()
        Slabs(self.parts, self.functions).write(folder / "calls")
        levels.write_of_parts(self.parts, self.functions, folder / "levels")
        met, alone = self.meetings().tables()
        for name, table in (met | {"opens": self.opens(), "links": links}).items():
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        tables = {"objects": list(self.objects.rows.values()), "processes": processes.rows(self.processes), "losses": self.losses, "gaps": self.gaps}
        for name, rows in tables.items():
            pq.write_table(pa.Table.from_pylist(rows, pa.schema(SCHEMAS[name].items())), folder / f"{name}.parquet", compression="zstd")
        about = {"format": "damaris store", "version": store.VERSION, "calls": self.rows, "moving": self.functions.moving, "raw": state_of(self.files), **alone,
                 "running": sum(row["ended"] == "running" for row in tables["processes"])}  # fmt: skip
        (folder / "store.json").write_text(json.dumps(about) + "\n")


def is_empty(path: Path) -> bool:
    """Whether no chunk of it was ever begun."""
    try:
        with path.open("rb") as file:
            return not any(file.read(kernel.CHUNK_HEAD))
    except OSError:
        return False


def state_of(files: list[Path]) -> dict[str, list[int]]:
    return {path.name: [(facts := path.stat()).st_size, facts.st_mtime_ns] for path in files}


def recording(run: Path) -> str:
    """What tells it from others."""
    try:
        return json.loads((run / "recording.json").read_text()).get("id", "")
    except (OSError, ValueError, AttributeError):
        return ""


def is_current(run: Path) -> bool:
    """Whether the store was made by this version, of all raw files that are there now, of a program that has ended. Raw files may have been removed
    since."""
    if raw.pools(recording(run)):
        return False
    made, files = store.about(run / "store"), state_of(raw.files(run))
    return made.get("version") == store.VERSION and (not files or files.items() <= made.get("raw", {}).items() and not made.get("running", True))


@contextmanager
def locked(run: Path):
    """Two verbs may ask for the store at once."""
    try:
        with open(run / ".lock", "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(f"waiting for another damaris that works on '{run}'", file=sys.stderr)
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise Refused(f"cannot make the store in '{run}': {error.strerror or error}; make room there, or copy it to where you can write") from error


def unify(run: Path, again: bool = True) -> None:
    """Makes RUN/store, unless it is there and `again` is False. What an interrupted one left is made anew."""
    if not again and is_current(run):
        return
    if not raw.files(run) and not raw.pools(recording(run)):
        if not again and (run / "store/store.json").exists():
            store.check(run / "store")
        if (run / "store").exists() and store.about(run / "store").get("raw") != {}:
            raise Refused(f"'{run}/raw' has no raw file any more, so the store is not made anew; ask it as it is, or record again")
        if not (run / "recording.json").exists():
            raise Refused(f"'{run}' is no recording; make one with 'damaris record -o DIR PROGRAM'")
    with locked(run):
        if not again and is_current(run):  # by the one that had the lock
            return
        looks = raw.collect(run, recording(run))  # before the logs are read: what their servers write meanwhile is in one of both
        made, aside = Store([path for path in raw.files(run) if path not in looks]), run / ".store.new"
        for source in progress(raw.sources(run), "read"):
            made.add(source)
        for look in looks:
            look.unlink()
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        made.write(aside)
        shutil.rmtree(run / "store", ignore_errors=True)
        aside.rename(run / "store")

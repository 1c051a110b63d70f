"""The files of a plan: their operations, what they hold before, and which threads have them open."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from damaris.plan import File, Op

if TYPE_CHECKING:
    from damaris.planning import Call

BUFFER = 4096  # of a stream of the C library


def names_of(paths: list[str]) -> list[str]:
    """Relative ones: without the folder that all share."""
    folders = [str(PurePosixPath(path).parent) for path in paths if path.startswith("/")]
    shared = os.path.commonpath(folders) if len(folders) == len(paths) and folders else "/"
    return [path.removeprefix(shared).lstrip("/").replace("../", "_/") or "_" for path in paths]


def folders_of(names: dict[int, str]) -> set[int]:
    """Those that others are in: programs open folders, too, to sync them."""
    parents = {str(parent) for name in names.values() for parent in PurePosixPath(name).parents}
    return {number for number, name in names.items() if name in parents}


class Streams:
    """Which writes to streams of the C library reach files: when the buffer is full, whole blocks are written."""

    def __init__(self):
        self.held: dict[tuple[int, int], tuple[int, int, int]] = {}  # file, offset and bytes, by process and handle

    def write(self, key: tuple[int, int], which: int, offset: int, count: int) -> tuple[int, int]:
        """What is written then: offset and bytes."""
        _, at, held = self.held.get(key, (which, offset, 0))
        if at + held != offset:
            self.held[key] = which, offset, count
            return at, held
        whole = (held + count) // BUFFER * BUFFER
        self.held[key] = which, at + whole, held + count - whole
        return at, whole

    def flush(self, key: tuple[int, int]) -> tuple[int, int]:
        _, at, held = self.held.pop(key, (0, 0, 0))
        return at, held


class Open:
    """How often a thread has a file open, as readers of plans count it."""

    def __init__(self):
        self.readers = self.writers = 0

    def add(self, words: str) -> None:
        if "w" in words:
            self.writers += 1
        else:
            self.readers += 1

    def close(self) -> bool:
        """False: it is not open."""
        if self.readers:
            self.readers -= 1
        elif self.writers:
            self.writers -= 1
        else:
            return False
        return True

    def allows(self, op: Op) -> bool:
        return self.writers > 0 or (self.readers > 0 and op.kind not in "wt")


class Files:
    """Numbered as they are met."""

    def __init__(self, names: dict[int, str], calls: list[Call]):
        self.names, self.numbers, self.files = names, {}, []
        self.streams = Streams()
        self.open: dict[tuple[int, int, int], Open] = defaultdict(Open)  # by process, thread and file
        self.ends: dict[int, int] = {}  # of calls whose offset is not recorded, such as with O_APPEND: where the file then ended
        for call in sorted(calls, key=lambda one: one.begin):
            self.see(call)

    def see(self, call: Call) -> None:
        """What a file holds when it is read, and nobody has written, it held before."""
        file = self.of(call)
        if call.place is None:
            self.ends[call.id] = file.size
        offset = self.offset(call)
        if call.kind == "read":
            file.initial = max(file.initial, offset + call.bytes) if offset + call.bytes > file.size else file.initial
        elif call.kind == "write":
            file.size = max(file.size, offset + call.bytes)
        elif call.flags is not None and call.flags & os.O_TRUNC:
            file.size = 0

    def offset(self, call: Call) -> int:
        return self.ends.get(call.id, 0) if call.place is None else call.place

    def of(self, call: Call) -> File:
        if call.file not in self.numbers:
            self.numbers[call.file] = len(self.files)
            self.files.append(File(self.names[call.file]))
        return self.files[self.numbers[call.file]]

    def ops(self, call: Call, ns: int) -> Iterator[Op]:
        """With the opens before, by which the thread has what another one, or its parent, gave it."""
        held = self.open[call.process, call.thread, self.numbers[call.file]]
        for op in self.plain_ops(call, ns, held):
            if op.kind in "rwst" and not held.allows(op):
                held.add("rw")
                yield Op("o", op.which, 0, words=self.words(op.which, os.O_RDWR))
            yield op

    def plain_ops(self, call: Call, ns: int, mine: Open) -> Iterator[Op]:
        which, key = self.numbers[call.file], (call.process, call.handle)
        is_stream = call.layer == "stdio"
        held = self.streams.flush(key) if is_stream and call.kind in ("seek", "sync", "close") else (0, 0)
        if held[1]:
            yield Op("w", which, ns, *held)
        match call.kind:
            case "open" if call.flags is not None or call.layer == "mpiio":
                words = self.words(which, os.O_RDWR if call.flags is None else call.flags)
                mine.add(words)
                yield Op("o", which, ns, words=words)
            case "close" if mine.close():
                yield Op("x", which, 0 if held[1] else ns)
            case "write":
                at, count = self.streams.write(key, which, self.offset(call), call.bytes) if is_stream else (self.offset(call), call.bytes)
                yield Op("w", which, ns, at, count) if count else Op("c", 0, ns)
            case "read" if call.bytes:
                yield Op("r", which, ns, self.offset(call), call.bytes)
            case "sync" if not is_stream:
                yield Op("s", which, ns)
            case "metadata" if call.function in ("ftruncate", "MPI_File_set_size"):
                yield Op("t", which, ns, bytes=call.place or 0)
            case "metadata" if call.function in ("unlink", "unlinkat", "remove"):
                yield Op("u", which, ns)
            case "metadata":
                yield Op("m", which, ns)
            case _ if not held[1]:
                yield Op("c", 0, ns)

    def left(self, process: int, thread: int) -> Iterator[Op]:
        """What its streams hold at its end, which the C library writes at exit."""
        for key in [key for key in self.streams.held if key[0] == process]:
            which, at, count = self.streams.held.pop(key)
            mine = self.open[process, thread, which]
            if count and not mine.writers:
                mine.add("rw")
                yield Op("o", which, 0, words=self.words(which, os.O_RDWR))
            if count:
                yield Op("w", which, 0, at, count)

    def words(self, which: int, flags: int) -> str:
        access = {os.O_RDONLY: "r", os.O_WRONLY: "w"}.get(flags & os.O_ACCMODE, "rw")
        makes = flags & os.O_CREAT or not self.files[which].initial
        return access + ("c" if makes else "") + ("t" if flags & os.O_TRUNC else "") + ("a" if flags & os.O_APPEND else "")

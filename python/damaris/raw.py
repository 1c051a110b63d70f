"""The raw files of a recording, by process: the file of a process, its stream in the log of a server, and what a pool has that no server has stored.

The formats are those of src/trace/slot.hpp, src/trace/pool.hpp and src/logs/format.hpp.
"""

import os
import re
import socket
import struct
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

from damaris import stream_log
from damaris.kernel import CHUNK_HEAD

CHUNK = 1 << 20
SHARED_MEMORY = Path("/dev/shm")
_HEAD = struct.Struct("<8sIIIIQQQi12x")  # of a chunk
_POOL = struct.Struct("<8sIIiIQQIIII8x")
_PROCESSES_AT, _PROCESS, _MOST = 4096, struct.Struct("<iIQ"), 4096
_OWNERS_AT = _PROCESSES_AT + _MOST * _PROCESS.size
_OF_PROCESS = re.compile(r"(?P<host>.+)\.(?P<pid>\d+)\.(?P<identity>\d+)\.trace")


@dataclass
class Source:
    """Where the chunks of a process are."""

    name: str
    pieces: list[tuple[Path, int, int]] = field(default_factory=list)  # file, offset, bytes; 0 bytes: all of it
    damages: list[str] = field(default_factory=list)


def files(run: Path) -> list[Path]:
    raw = run / "raw"
    return sorted([*raw.glob("*.trace"), *raw.glob("*.stream"), *raw.glob("*.stream-index"), *raw.glob("*.pool")])


def identity_of(head: bytes) -> tuple[str, str] | None:
    """The pid and the time that a chunk names; None: nobody has begun it."""
    if len(head) < _HEAD.size or not any(head):
        return None
    *_, identity, _, _, pid = _HEAD.unpack_from(head)
    return str(pid), str(identity)


def read(path: Path, offset: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(size)


def checksum(piece: stream_log.Piece) -> int:
    found = 0
    with piece.file.open("rb") as file:
        file.seek(piece.offset)
        for at in range(0, piece.bytes, CHUNK):
            found = zlib.crc32(file.read(min(CHUNK, piece.bytes - at)), found)
    return found


def pieces_of_servers(index: Path, entries: list[tuple]) -> Iterator[tuple[int, stream_log.Piece]]:
    """Each with the number of its server, from 1."""
    server = 0
    for entry in entries:
        server += entry[0] == stream_log.BEGIN
        yield from ((server, piece) for piece in stream_log.places(index, [entry]))


def of_log(index: Path) -> Iterator[tuple[tuple, Source]]:
    """A process for each stream. Each server that went on with the log began to count streams anew."""
    header = stream_log.read_index(index)
    streams: dict[tuple[int, int], Source] = defaultdict(lambda: Source(""))
    for server, piece in pieces_of_servers(index, header.entries):
        stream = streams[server, piece.stream]
        if not piece.file.exists() or checksum(piece) != piece.checksum:
            stream.damages.append(f"{piece.bytes} bytes at {piece.offset} of {piece.file.name} are damaged or missing")
        if piece.file.exists():
            stream.pieces.append((piece.file, piece.offset, piece.bytes))
    for (server, number), stream in streams.items():
        stream.name = f"stream {number} of server {server} of {index.name}"
        heads = [read(path, at, CHUNK_HEAD) for path, at, _ in stream.pieces]
        pid, identity = next(filter(None, map(identity_of, heads)), ("", f"{server}.{number}"))
        yield (header.host, pid, identity), stream


def of_pool(path: Path, host: str) -> Iterator[tuple[tuple, Source]]:
    """A process for each chunk of a pool that was put aside. One that its server was about to free has the size that the log gives it."""
    for at in range(0, path.stat().st_size, CHUNK):
        head = read(path, at, CHUNK_HEAD)
        if found := identity_of(head):
            size = min(max(_HEAD.unpack(head)[2], CHUNK_HEAD), CHUNK)
            yield (host, *found), Source(f"{path.name} at byte {at}", [(path, at, size)])


def sources(run: Path) -> list[Source]:
    """All processes, in the order of their hosts, pids and times. One may have chunks in several places."""
    found: dict[tuple, Source] = {}
    kept: list[tuple[tuple, Source]] = []
    for path in files(run):
        if path.suffix == ".trace":
            match = _OF_PROCESS.fullmatch(path.name)
            key = (match["host"], match["pid"], match["identity"]) if match else (path.name, "", "")
            kept.append((key, Source(path.name, [(path, 0, 0)])))
        elif path.suffix == ".stream-index":
            kept.extend(of_log(path))
        elif path.suffix == ".pool":
            kept.extend(of_pool(path, path.name.rsplit(".", 2)[0]))
    for key, source in kept:
        if key in found:
            found[key].pieces += source.pieces
            found[key].damages += source.damages
        else:
            found[key] = source
    return [found[key] for key in sorted(found)]


class Pool:
    """A pool of this host: that of a server which is at work, or was killed."""

    def __init__(self, path: Path):
        self.path = path

    def is_in_use(self) -> bool:
        """Whether its server or one of its processes lives."""
        with self.path.open("rb") as file:
            head = file.read(_POOL.size)
            file.seek(_PROCESSES_AT)
            processes = file.read(_MOST * _PROCESS.size)
        if len(head) < _POOL.size:
            return False
        pids = {_POOL.unpack(head)[3], *(pid for pid, _, _ in _PROCESS.iter_unpack(processes))} - {0}
        return any(is_alive(pid) for pid in pids)

    def server_start(self) -> int:
        """What tells it from the pools of other servers of the recording on this host."""
        head = read(self.path, 0, _POOL.size)
        return _POOL.unpack(head)[5] if len(head) == _POOL.size else 0

    def copy(self, to: Path) -> None:
        """Those chunks that are not empty. One that the server takes away meanwhile is left out: it is in the log, which is read later."""
        with self.path.open("rb") as file, to.open("wb") as copy:
            head = file.read(_POOL.size)
            if len(head) < _POOL.size or not head.startswith(b"DCTPOOL\0"):
                return
            for number in range(_POOL.unpack(head)[2]):
                before = self._state(file, number)
                if before[0] and any(before[1]):
                    file.seek((number + 1) * CHUNK)
                    data = file.read(CHUNK)
                    if self._state(file, number) == before:
                        copy.write(data)

    def _state(self, file, number: int) -> tuple[int, bytes]:
        """Whose the chunk is, full or not, and its head."""
        owner = os.pread(file.fileno(), 8, _OWNERS_AT + 8 * number)
        return struct.unpack("<Q", owner)[0] >> 1, os.pread(file.fileno(), CHUNK_HEAD, (number + 1) * CHUNK)[:32]


def is_alive(pid: int) -> bool:
    """A zombie with threads has lost its first one only."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return state not in "ZX" or int(fields[16]) > 1
    except (OSError, IndexError):
        return False


def pools(recording: str) -> list[Pool]:
    """Those of this host for the recording with this id."""
    name = f"damaris-recording-{recording}"
    mine = (path for path in SHARED_MEMORY.glob(f"{name}*") if path.name == name or path.name.startswith(f"{name}."))
    return [Pool(path) for path in sorted(mine) if recording and is_own(path)]


def is_own(path: Path) -> bool:
    try:
        return path.stat().st_uid == os.geteuid()
    except FileNotFoundError:  # its server has just ended
        return False


def collect(run: Path, recording: str) -> list[Path]:
    """Puts what no server has stored into raw files. Returns those that are no more than a look at a run that goes on."""
    looks = []
    for pool in pools(recording):
        kept = None
        try:
            is_in_use = pool.is_in_use()
            kept = run / "raw" / f"{socket.gethostname()}.{recording}-{pool.server_start()}.pool"
            pool.copy(kept)
            if not is_in_use:
                pool.path.unlink()
        except FileNotFoundError:  # its server has just ended
            if kept:
                kept.unlink(missing_ok=True)
            continue
        if is_in_use:
            looks.append(kept)
    return looks

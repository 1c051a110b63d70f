"""Logs that clients have appended to: the bytes of each stream, in order, without a server.

    log = stream_log.open("out/run", "events")
    log.streams                  # the numbers of its streams
    log.read(3)                  # the bytes of one
    for piece in log.pieces(3):  # the same, piece by piece
        ...

The format is that of src/logs/format.hpp.
"""

import struct
import zlib
from pathlib import Path
from typing import Iterator, NamedTuple

from damaris.errors import Refused

_HEADER = struct.Struct("<8sIIQi12s72s136sII")
_ENTRY = struct.Struct("<IIqQQIIII")
BEGIN, _APPEND, _END = 1, 2, 3
_SUFFIX = ".stream-index"


class Piece(NamedTuple):
    """Bytes of a stream that lie together in a file."""

    file: Path
    offset: int
    bytes: int
    checksum: int
    stream: int


class Index(NamedTuple):
    log: str  # "": it ends within its header
    host: str
    entries: list[tuple]


class Hole(NamedTuple):
    """A place that a client had reserved when it died: no stream has a byte there."""

    file: Path
    offset: int
    bytes: int


class Log:
    """A log of a run, of all its servers."""

    def __init__(self, name: str):
        self.name = name
        self.ended = True  # every server has come to its end
        self.holes: list[Hole] = []
        self._pieces: dict[int, list[Piece]] = {}

    @property
    def streams(self) -> list[int]:
        return sorted(self._pieces)

    def pieces(self, stream: int) -> Iterator[bytes]:
        """The bytes of a stream, piece by piece. Raises Refused at the first that is damaged or missing."""
        if stream not in self._pieces:
            raise Refused(f"log '{self.name}' has no stream {stream}; it has {', '.join(map(str, self.streams)) or 'none'}")
        for piece in self._pieces[stream]:
            with piece.file.open("rb") as file:
                file.seek(piece.offset)
                data = file.read(piece.bytes)
            if len(data) < piece.bytes or zlib.crc32(data) != piece.checksum:
                raise Refused(f"{piece.file}: {piece.bytes} bytes of stream {stream} at {piece.offset} are damaged or missing")
            yield data

    def read(self, stream: int) -> bytes:
        return b"".join(self.pieces(stream))

    def _take(self, index: Path, entries: list[tuple]) -> None:
        files: dict[Path, list[Piece]] = {}
        found: dict[int, list[Piece]] = {}
        for piece in places(index, entries):
            found.setdefault(piece.stream, []).append(piece)
            files.setdefault(piece.file, []).append(piece)
        for stream, pieces in found.items():
            self._pieces.setdefault(stream, []).extend(sorted(pieces, key=lambda piece: piece.offset))
        for path, pieces in files.items():
            at = 0
            for piece in sorted(pieces, key=lambda piece: piece.offset):
                if piece.offset > at:
                    self.holes.append(Hole(path, at, piece.offset - at))
                at = max(at, piece.offset + piece.bytes)
        self.ended = self.ended and bool(entries) and entries[-1][0] == _END


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def places(index: Path, entries: list[tuple]) -> Iterator[Piece]:
    """Where the bytes of the streams are, in the order in which they were written."""
    for kind, file, stream, offset, size, checksum, *_ in entries:
        if kind == _APPEND:
            yield Piece(index.with_name(f"{index.name.removesuffix(_SUFFIX)}.{file}.stream"), offset, size, checksum, stream)


def read_index(path: Path) -> Index:
    """Its entries up to the torn end that a killed server may have left."""
    raw = path.read_bytes()
    if len(raw) < _HEADER.size:
        return Index("", "", [])
    header = _HEADER.unpack_from(raw)
    if header[0] != b"DCSTREAM" or zlib.crc32(raw[: _HEADER.size - 4]) != header[-1]:
        raise Refused(f"{path} is no index of a stream log, or damaged")
    if header[1] != 1:
        raise Refused(f"{path} has version {header[1]}, this package reads 1; use that of the same Damaris")
    entries = []
    for number, at in enumerate(range(_HEADER.size, len(raw) - _ENTRY.size + 1, _ENTRY.size)):
        entry = _ENTRY.unpack_from(raw, at)
        if zlib.crc32(raw[at : at + _ENTRY.size - 4]) == entry[-1] and entry[6] == number & 0xFFFFFFFF:
            entries.append(entry)
    return Index(_text(header[7]), _text(header[6]), entries)


def names(run) -> list[str]:
    """The names of the logs of a run."""
    return sorted({name for name in (read_index(path).log for path in _indexes(run)) if name})


def _indexes(run) -> list[Path]:
    path = Path(run)
    if path.is_dir():
        return sorted(path.glob(f"*{_SUFFIX}"))
    stem = path.name.removesuffix(".jsonl") + "."
    return sorted(found for found in path.parent.glob(f"*{_SUFFIX}") if found.name.startswith(stem))


def open(run, name: str | None = None) -> Log:
    """The log `name` of the run `run`: a basename, its .jsonl or its folder. Without a name, the only one."""
    found = [(path, read_index(path)) for path in _indexes(run)]
    known = sorted({index.log for _, index in found if index.log})
    if name is None and len(known) == 1:
        name = known[0]
    if name not in known:
        raise Refused(f"'{run}' has no log '{name}'; it has {', '.join(known) or 'none'}" if name else f"'{run}' has {len(known)} logs; name one")
    result = Log(name)
    for path, index in found:
        if index.log == name:
            result._take(path, index.entries)
    return result

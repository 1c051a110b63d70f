"""Writes raw files as the recorder does (src/trace/slot.hpp), for tests and the benchmark of unify."""

import struct
from pathlib import Path

import numpy as np

VERSION = 3
SLOT = np.dtype([("begin", "u8"), ("duration", "u4"), ("function", "u2"), ("depth", "u1"), ("flags", "u1"), ("object", "u4"), ("bytes", "u4"), ("place", "i8")])
CHUNK = 1 << 20
SLOTS = CHUNK // SLOT.itemsize - 2  # behind the head
LONG, NOWHERE, IMPLICIT = 2**32 - 1, -(2**63), -(2**63) + 1
MORE, TEXT, STARTED, REQUESTED, COMPLETED = 1, 2, 3, 4, 5
PROCESS, PATH, LOSS, DESCRIPTION, END, RENAMED = 1, 2, 3, 4, 5, 6
FAILED, HAS_MORE, CUT = 1, 2, 4


def head(thread: int, sequence: int, identity: int) -> bytes:
    return struct.pack("<8sIIIIQ32x", b"DCTRACE", VERSION, CHUNK, thread, sequence, identity)


def slot(function, begin=0, duration=0, depth=0, flags=0, object=0, bytes=0, place=NOWHERE) -> bytes:
    return struct.pack("<QIHBBIIq", begin, duration, function, depth, flags, object, bytes, place)


def call(function, begin, end, depth=0, object=0, bytes=0, place=NOWHERE, error=None) -> bytes:
    if error is None and max(bytes, end - begin) < LONG:
        return slot(function, begin, end - begin, depth, 0, object, bytes, place)
    flags = HAS_MORE | (FAILED if error is not None else 0)
    first = slot(function, begin, min(end - begin, LONG), depth, flags, object, min(bytes, LONG), place)
    return first + slot(MORE, end - begin, place=bytes if error is None else error)


def requested(handle) -> bytes:
    return slot(REQUESTED, handle)


def completed(handle, source=-1, tag=-1, bytes=0, flags=0) -> bytes:
    return slot(COMPLETED, handle, 0, 0, flags, 0, bytes, message(source, tag))


def message(peer, tag) -> int:
    return (peer << 32) + (tag & 0xFFFFFFFF) if peer >= 0 else NOWHERE


def text(what, words: str, object=0, place=0, begin=0) -> bytes:
    body = words.encode()
    return slot(TEXT, begin, 0, 0, what, object, len(body), place) + body + bytes(-len(body) % SLOT.itemsize)


def about(**facts) -> str:
    return "".join(f"{key}={value}\n" for key, value in facts.items())


def process(pid=100, parent=1, host="node", rank="", ranks="", program="/bin/model", monotonic=1000, realtime=1_000_001_000) -> bytes:
    facts = about(pid=pid, parent=parent, host=host, rank=rank, ranks=ranks, program=program, monotonic=monotonic, realtime=realtime)
    return text(PROCESS, facts)


def end(begin, how="exit", wchar=0, own=0, dropped=0, pending=0, **facts) -> bytes:
    return text(END, about(how=how, wchar=wchar, own=own, dropped=dropped, pending=pending, **facts), begin=begin)


def chunk(slots: bytes, thread=0, sequence=0, identity=1) -> bytes:
    return (head(thread, sequence, identity) + slots).ljust(CHUNK, b"\0")


def write(run: Path, *chunks: bytes, name="node.100.1") -> Path:
    """Chunks as a process's file in a recording."""
    (run / "raw").mkdir(parents=True, exist_ok=True)
    (run / "recording.json").write_text('{"format": "damaris recording", "version": 1, "program": ["model", "input"]}\n')
    path = run / f"raw/{name}.trace"
    path.write_bytes(b"".join(chunks))
    return path

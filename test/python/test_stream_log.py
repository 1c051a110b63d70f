"""The reader of logs: whole and damaged indexes that the tests write themselves."""

import struct
import zlib

import pytest

from damaris import Refused, stream_log

HEADER = struct.Struct("<8sIIQi12s72s136sI")
ENTRY = struct.Struct("<IIqQQIII")
BEGIN, APPEND, END = 1, 2, 3


def sealed(raw):
    return raw + struct.pack("<I", zlib.crc32(raw))


def write_log(folder, pieces, name="events", server=0, ended=True):
    """pieces: (stream, offset, bytes) of file 0."""
    start = folder / f"run.host.s{server}.{name}"
    raw = sealed(HEADER.pack(b"DCSTREAM", 1, 1, 4096, server, b"", b"host", name.encode(), 0))
    entries = [(BEGIN, 0, 0, 7, 0, 0)] + [(APPEND, 0, s, at, len(data), zlib.crc32(data)) for s, at, data in pieces]
    for number, entry in enumerate(entries + ([(END, 0, 0, 0, 0, 0)] if ended else [])):
        raw += sealed(ENTRY.pack(*entry, number, 0))
    start.with_name(start.name + ".stream-index").write_bytes(raw)
    with open(str(start) + ".0.stream", "wb") as file:
        for _, at, data in pieces:
            file.seek(at)
            file.write(data)
    return start


def test_streams_of_several_servers_are_one_log(tmp_path):
    write_log(tmp_path, [(0, 4, b"bbb"), (0, 0, b"aaaa"), (2, 7, b"cc")])
    write_log(tmp_path, [(1, 0, b"other")], server=1)
    write_log(tmp_path, [(0, 0, b"x")], name="second")
    assert stream_log.names(tmp_path) == ["events", "second"]
    log = stream_log.open(tmp_path / "run", "events")
    assert log.streams == [0, 1, 2] and log.ended and not log.holes
    assert log.read(0) == b"aaaabbb" and log.read(1) == b"other"
    with pytest.raises(Refused, match="2 logs"):
        stream_log.open(tmp_path / "run")


def test_holes_and_a_missing_end_are_said(tmp_path):
    write_log(tmp_path, [(0, 0, b"aaaa"), (0, 10, b"b")], ended=False)
    log = stream_log.open(tmp_path / "run.jsonl")
    assert not log.ended
    assert [(hole.offset, hole.bytes) for hole in log.holes] == [(4, 6)]


def test_damaged_bytes_are_never_data(tmp_path):
    start = write_log(tmp_path, [(0, 0, b"aaaa"), (0, 4, b"bbbb")])
    with open(str(start) + ".0.stream", "r+b") as file:
        file.seek(5)
        file.write(b"X")
    pieces = stream_log.open(tmp_path / "run").pieces(0)
    assert next(pieces) == b"aaaa"
    with pytest.raises(Refused, match="at 4 are damaged"):
        next(pieces)


def test_a_cut_index_keeps_its_whole_entries(tmp_path):
    start = write_log(tmp_path, [(0, 0, b"aaaa"), (0, 4, b"bbbb")])
    index = start.with_name(start.name + ".stream-index")
    index.write_bytes(index.read_bytes()[: 256 + 2 * 48 + 20])
    log = stream_log.open(tmp_path / "run")
    assert log.read(0) == b"aaaa" and not log.ended
    index.write_bytes(index.read_bytes()[:100])
    with pytest.raises(Refused, match="no log"):
        stream_log.open(tmp_path / "run", "events")


def test_what_is_no_log_is_refused(tmp_path):
    with pytest.raises(Refused, match="no log 'events'"):
        stream_log.open(tmp_path / "run", "events")
    (tmp_path / "run.x.stream-index").write_bytes(b"x" * 300)
    with pytest.raises(Refused, match="is no index"):
        stream_log.open(tmp_path / "run", "events")
    (tmp_path / "run.x.stream-index").unlink()
    write_log(tmp_path, [(0, 0, b"a")])
    with pytest.raises(Refused, match="no stream 5"):
        stream_log.open(tmp_path / "run").read(5)

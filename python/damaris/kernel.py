"""The decoder of raw files, libdamaris_trace, behind ctypes and NumPy."""

import ctypes
import json
import os
import shutil
import weakref
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from damaris.errors import Refused

CALL = np.dtype(
    [("begin", "i8"), ("end", "i8"), ("parent", "i8"), ("offset", "i8"), ("bytes", "i8"), ("object", "u4"), ("thread", "u4"),
     ("function", "u2"), ("depth", "u1"), ("flags", "u1"), ("error", "i4")])  # fmt: skip
REQUEST = np.dtype([("start", "i8"), ("done", "i8"), ("place", "i8"), ("bytes", "i8"), ("flags", "u4"), ("", "u4")])
BLOCK = np.dtype([("call", "i8"), ("place", "i8"), ("bytes", "i8"), ("run", "i8")])
LIBRARY = "libdamaris_trace.so"
LAYERS = ("damaris", "server", "hdf5", "mpiio", "stdio", "posix", "mpi", "recorder")  # all before mpi do I/O
CHUNK_HEAD = 64  # bytes
PROCESS, PATH, LOSS, DESCRIPTION, END, RENAMED, GAP = 1, 2, 3, 4, 5, 6, 64
FAILED, CUT = 1, 4  # of a call's flags
SEEKS, SEQUENTIAL, OFFSET = 1, 2, 4  # what the decoder is told of a function


class _Piece(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("offset", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class _Text(ctypes.Structure):
    _fields_ = [("what", ctypes.c_int32), ("object", ctypes.c_uint32), ("place", ctypes.c_int64), ("begin", ctypes.c_uint64),
                ("text", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]  # fmt: skip


@dataclass(slots=True)
class Text:
    what: int
    object: int
    place: int
    begin: int
    text: str

    def values(self) -> dict[str, str]:
        """Of a text of key=value lines."""
        return dict(line.split("=", 1) for line in self.text.splitlines() if "=" in line)


def number_of(text: str | None, bits: int = 32) -> int | None:
    """What a value says, unless it is damaged."""
    if not text or not text.removeprefix("-").isdecimal() or len(text) > 20:
        return None
    number = int(text)
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None


class Decoded:
    """A raw file's calls, by thread and begin, in the decoder's own memory, and its texts."""

    def __init__(self, trace: int):
        self._close = weakref.finalize(self, library().dt_close, trace)
        count = ctypes.c_size_t()
        self.calls = self.array(CALL, library().dt_calls(trace, count), count.value)
        self.requests = self.array(REQUEST, library().dt_requests(trace, count), count.value)
        self.blocks = self.array(BLOCK, library().dt_blocks(trace, count), count.value)
        at = library().dt_texts(trace, count)
        self.texts = [Text(one.what, one.object, one.place, one.begin, ctypes.string_at(one.text, one.bytes).decode(errors="replace"))
                      for one in ((_Text * count.value).from_address(at) if count.value else ())]  # fmt: skip
        self.damage: str = library().dt_damage(trace).decode()

    def array(self, dtype: np.dtype, at: int, count: int) -> np.ndarray:
        if not count:
            return np.empty(0, dtype)
        memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(at)
        setattr(memory, "owner", self)  # it stays as long as there is an array of it
        return np.frombuffer(memoryview(memory), dtype)


@cache
def libraries() -> Path:
    """The folder with libdamaris_trace.so: this package's own installation, else that of the `damaris` on PATH."""
    places = [Path(__file__).absolute().parents[3]]
    if command := shutil.which("damaris"):
        prefix = Path(command).resolve().parents[1]
        places += [*prefix.glob("lib*"), *prefix.glob("lib/*-linux-gnu")]
    for place in places:
        if (place / LIBRARY).exists():
            return place
    raise Refused(f"{LIBRARY}, which decodes raw recordings, is not there; build or install damaris and put its bin on PATH, or name a store that is made: RUN/store")


@cache
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(str(libraries() / LIBRARY))
    found.dt_open.restype = found.dt_calls.restype = found.dt_texts.restype = found.dt_requests.restype = found.dt_blocks.restype = ctypes.c_void_p
    found.dt_damage.restype = ctypes.c_char_p
    found.dt_open.argtypes = [ctypes.POINTER(_Piece), ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    for name in ("dt_calls", "dt_texts", "dt_requests", "dt_blocks"):
        getattr(found, name).argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    found.dt_paint.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_size_t, ctypes.c_int64, ctypes.c_double, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
    found.dt_shade.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double, ctypes.c_size_t, ctypes.c_void_p]
    found.dt_paint.restype = found.dt_shade.restype = None
    found.dt_damage.argtypes = found.dt_close.argtypes = [ctypes.c_void_p]
    return found


class Functions:
    """The functions that the recorder knows, each list by a function's number."""

    def __init__(self, known: list[dict]):
        size = max(one["number"] for one in known) + 1
        self.name, self.layer, self.kind = (["?"] * size for _ in range(3))
        self.place: list[str | None] = [None] * size
        for one in known:
            for key in ("name", "layer", "kind", "place"):
                getattr(self, key)[one["number"]] = one[key]
        self.layer_bit = np.array([1 << LAYERS.index(one) if one in LAYERS else 0 for one in self.layer], np.uint8)
        # What gives bytes to the kernel: a stream's writes do not come through the wrapper of write().
        self.writes_files = np.array([kind == "write" and layer in ("posix", "stdio") for kind, layer in zip(self.kind, self.layer, strict=True)])
        # Those that read and write storage.
        self.moving = sorted(name for name, kind, layer in zip(self.name, self.kind, self.layer, strict=True) if kind in ("read", "write") and layer in ("posix", "stdio"))
        self.roles = bytes(
            SEEKS * (kind == "seek") | SEQUENTIAL * (kind in ("read", "write")) | OFFSET * (place == "offset")
            for kind, place in zip(self.kind, self.place, strict=True)
        )


@cache
def functions() -> Functions:
    path = libraries() / "damaris/functions.json"
    if not path.exists():
        raise Refused(f"'{path}', which names the recorded functions, is not there; build or install damaris again")
    return Functions(json.loads(path.read_text()))


def decode(pieces: list[tuple[Path, int, int]], roles: bytes) -> Decoded:
    """What is whole in the pieces of raw files that are one process's, see raw.py. Raises Refused if nothing is."""
    error = ctypes.create_string_buffer(1024)
    given = (_Piece * len(pieces))(*((os.fsencode(path), at, size) for path, at, size in pieces))
    trace = library().dt_open(given, len(pieces), roles, len(roles), error, len(error))
    if not trace:
        raise Refused(error.value.decode(errors="replace"))
    return Decoded(trace)


def paint(begin: np.ndarray, end: np.ndarray, layer: np.ndarray, origin: int, width: float, bins: int) -> np.ndarray:
    """How many ns each layer was innermost in each bin of a thread's time, bins x layers; the calls by begin, those around others first."""
    ns = np.zeros((bins, len(LAYERS)))
    begin, end = (np.ascontiguousarray(one, np.int64) for one in (begin, end))
    layer = np.ascontiguousarray(layer, np.uint8)
    library().dt_paint(begin.ctypes.data, end.ctypes.data, layer.ctypes.data, len(begin), origin, width, bins, len(LAYERS), ns.ctypes.data)
    return ns


def shade(ns: np.ndarray, width: float) -> np.ndarray:
    """Two bytes a bin: 1 + the layer that was innermost longest, 0 for none, and its share of the bin in 255ths."""
    ns = np.ascontiguousarray(ns, float)
    shades = np.zeros((len(ns), 2), np.uint8)
    library().dt_shade(ns.ctypes.data, len(ns), width, ns.shape[1], shades.ctypes.data)
    return shades

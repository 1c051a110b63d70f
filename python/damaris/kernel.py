"""The decoder of raw files, libdamaris_trace, behind ctypes and NumPy."""

import ctypes
import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from damaris.errors import Refused

CALL = np.dtype(
    [("begin", "u8"), ("end", "u8"), ("parent", "i8"), ("offset", "i8"), ("bytes", "u8"), ("object", "u4"), ("thread", "u4"),
     ("function", "u2"), ("depth", "u1"), ("flags", "u1"), ("error", "i4")])  # fmt: skip
LIBRARY = "libdamaris_trace.so"
PROCESS, PATH, LOSS, DESCRIPTION, END = 1, 2, 3, 4, 5
FAILED, CUT = 1, 4  # of a call's flags
SEEKS, SEQUENTIAL, OFFSET = 1, 2, 4  # what is known of a function


class _Text(ctypes.Structure):
    _fields_ = [("what", ctypes.c_int32), ("object", ctypes.c_uint32), ("place", ctypes.c_int64), ("begin", ctypes.c_uint64), ("text", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]  # fmt: skip


@dataclass
class Text:
    what: int
    object: int
    place: int
    begin: int
    text: str


@dataclass
class Decoded:
    calls: np.ndarray
    texts: list[Text]
    damage: str


@cache
def libraries() -> Path:
    """The folder with libdamaris_trace.so: this package's own installation, else that of the `damaris` on PATH."""
    places = [Path(__file__).absolute().parents[3]]
    if command := shutil.which("damaris"):
        places += Path(command).resolve().parents[1].glob("lib*/**/")
    for place in places:
        if (place / LIBRARY).exists():
            return place
    raise Refused(f"{LIBRARY}, which decodes raw recordings, is not there; build or install damaris, and put its bin on PATH")


@cache
def library() -> ctypes.CDLL:
    found = ctypes.CDLL(str(libraries() / LIBRARY))
    found.dt_open.restype = found.dt_calls.restype = found.dt_texts.restype = ctypes.c_void_p
    found.dt_damage.restype = ctypes.c_char_p
    found.dt_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    for name in ("dt_calls", "dt_texts"):
        getattr(found, name).argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    found.dt_damage.argtypes = found.dt_close.argtypes = [ctypes.c_void_p]
    return found


def decode(path: Path, roles: bytes) -> Decoded:
    """What is whole in a raw file. Raises Refused if it is none."""
    error = ctypes.create_string_buffer(1024)
    trace = library().dt_open(os.fsencode(path), roles, len(roles), error, len(error))
    if not trace:
        raise Refused(error.value.decode(errors="replace"))
    try:
        count = ctypes.c_size_t()
        at = library().dt_calls(trace, count)
        calls = np.frombuffer(ctypes.string_at(at, count.value * CALL.itemsize), CALL) if count.value else np.empty(0, CALL)
        at = library().dt_texts(trace, count)
        texts = [Text(one.what, one.object, one.place, one.begin, ctypes.string_at(one.text, one.bytes).decode(errors="replace"))
                 for one in ((_Text * count.value).from_address(at) if count.value else ())]  # fmt: skip
        return Decoded(calls, texts, library().dt_damage(trace).decode())
    finally:
        library().dt_close(trace)

"""The decoder of raw files, libdamaris_trace, behind ctypes and NumPy."""

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from damaris.errors import Refused

CALL = np.dtype(
    [("begin", "u8"), ("end", "u8"), ("parent", "i8"), ("offset", "i8"), ("bytes", "u8"), ("object", "u4"), ("thread", "u4"),
     ("function", "u2"), ("depth", "u1"), ("failed", "u1"), ("error", "i4")])  # fmt: skip
PROCESS, PATH, LOSS = 1, 2, 3


class _Text(ctypes.Structure):
    _fields_ = [("what", ctypes.c_int32), ("object", ctypes.c_uint32), ("place", ctypes.c_int64), ("text", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t)]  # fmt: skip


@dataclass
class Text:
    what: int
    object: int
    place: int
    text: str


@dataclass
class Decoded:
    calls: np.ndarray
    texts: list[Text]
    damage: str


@cache
def library() -> ctypes.CDLL:
    build = os.environ.get("DAMARIS_BUILD_DIR")
    beside = Path(__file__).resolve().parents[2]
    places = [Path(build) / "lib"] if build else []
    places += [beside / "lib", Path(__file__).parent, *(Path("/usr/local/lib"), Path("/usr/lib"))]
    for place in places:
        if (path := place / "libdamaris_trace.so").exists():
            found = ctypes.CDLL(str(path))
            break
    else:
        raise Refused("libdamaris_trace.so, which decodes raw recordings, is not there; use the damaris of a build or an installation")
    found.dt_open.restype = found.dt_calls.restype = found.dt_texts.restype = ctypes.c_void_p
    found.dt_damage.restype = ctypes.c_char_p
    found.dt_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    for name in ("dt_calls", "dt_texts"):
        getattr(found, name).argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    found.dt_damage.argtypes = found.dt_close.argtypes = [ctypes.c_void_p]
    return found


def decode(path: Path, seeks: bytes, sequential: bytes) -> Decoded:
    """What is whole in a raw file. Raises Refused if it is none."""
    error = ctypes.create_string_buffer(1024)
    trace = library().dt_open(os.fsencode(path), seeks, sequential, len(seeks), error, len(error))
    if not trace:
        raise Refused(error.value.decode(errors="replace"))
    try:
        count = ctypes.c_size_t()
        at = library().dt_calls(trace, count)
        calls = np.frombuffer(ctypes.string_at(at, count.value * CALL.itemsize), CALL) if count.value else np.empty(0, CALL)
        at = library().dt_texts(trace, count)
        texts = [Text(one.what, one.object, one.place, ctypes.string_at(one.text, one.bytes).decode(errors="replace"))
                 for one in ((_Text * count.value).from_address(at) if count.value else ())]  # fmt: skip
        return Decoded(calls, texts, library().dt_damage(trace).decode())
    finally:
        library().dt_close(trace)

"""Plans in virtual time, by libdamaris_replay behind ctypes, and the picture of a replay's errors: `python -m damaris.replay FILE < JSON`."""

import ctypes
import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from damaris.errors import Refused
from damaris.kernel import libraries

LIBRARY = "libdamaris_replay.so"


@dataclass
class Evaluated:
    """A plan's times in ns of virtual time; processes and operations in the order of its lines."""

    total: int
    recorded: int  # 0: the plan does not say it
    processes: np.ndarray  # numbers
    ends: np.ndarray
    waits: np.ndarray  # of each operation, for other processes
    lines: np.ndarray


@cache
def library() -> ctypes.CDLL:
    path = libraries() / LIBRARY
    if not path.exists():
        raise Refused(f"'{path}', which evaluates plans, is not there; build or install damaris again")
    found = ctypes.CDLL(str(path))
    found.dr_read.restype = found.dr_open.restype = ctypes.c_void_p
    found.dr_read.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    found.dr_total.restype = found.dr_recorded.restype = ctypes.c_uint64
    found.dr_total.argtypes = found.dr_recorded.argtypes = found.dr_close.argtypes = [ctypes.c_void_p]
    for name in ("dr_ends", "dr_waits", "dr_numbers", "dr_lines"):
        getattr(found, name).restype = ctypes.c_void_p
        getattr(found, name).argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    return found


def array_of(name: str, plan: int, dtype: str) -> np.ndarray:
    count = ctypes.c_size_t()
    at = getattr(library(), name)(plan, count)
    return np.frombuffer(ctypes.string_at(at, count.value * np.dtype(dtype).itemsize) if count.value else b"", dtype)


def evaluate(text: str) -> Evaluated:
    """What a plan takes. Raises Refused, with the line, if it is wrong or can never end."""
    given, error = text.encode(), ctypes.create_string_buffer(4096)
    plan = library().dr_read(given, len(given), error, len(error))
    if not plan:
        raise Refused(error.value.decode(errors="replace"))
    try:
        arrays = [array_of(*one) for one in (("dr_numbers", plan, "u4"), ("dr_ends", plan, "u8"), ("dr_waits", plan, "u8"), ("dr_lines", plan, "u4"))]
        return Evaluated(library().dr_total(plan), library().dr_recorded(plan), *arrays)
    finally:
        library().dr_close(plan)


def panels_of(report: dict) -> list:
    from damaris.pictures import MOST_BARS, Bars

    totals = {"recorded": report["total"]["recorded_seconds"]} | {f"{i}": value for i, value in enumerate(report["totals_seconds"], 1)}
    kinds = [one for one in report["kinds"] if one["kind"] != "compute"]
    worst = sorted(report["processes"], key=lambda one: -one["largest_error_seconds"])[:MOST_BARS]
    worst.sort(key=lambda one: one["process"])
    title = f"{Path(report['plan']).name} on {report['folder']}: {100 * report['total']['error']:+.1f} %"
    panels = [Bars(title, "repetition", "seconds", list(totals), {"": list(totals.values())})]
    if kinds:
        labels = [f"{one['kind']} {when}" for one in kinds for when in ("recorded", "replayed")]
        values = [one[f"{when}_seconds"] for one in kinds for when in ("recorded", "replayed")]
        panels.append(Bars("time by kind of call, all processes", "kind", "seconds", labels, {"": values}))
    panels.append(Bars("error of each process's end, median", "process", "seconds", [str(one["process"]) for one in worst],
                       {"": [one["error_seconds"] for one in worst]}))  # fmt: skip
    return panels


def draw(report: dict, path: Path) -> None:
    from damaris import pictures

    (pictures.draw_html if path.suffix == ".html" else pictures.draw_static)(panels_of(report), path)


if __name__ == "__main__":
    try:
        draw(json.load(sys.stdin), Path(sys.argv[1]))
    except ModuleNotFoundError as missing:
        sys.exit(f"damaris replay: the Python module '{missing.name}' is missing; install it with: {sys.executable} -m pip install {missing.name}")
    except OSError as error:
        sys.exit(f"damaris replay: {error}")

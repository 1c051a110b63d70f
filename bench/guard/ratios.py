"""The rows of the other benchmarks that are quotients, from their quick runs.

Used by: guard.py. Before it: the built tree. After it: {row: Measured} of a benchmark; README.md says what is left out.
"""

import json
import os
import re
import tempfile
from pathlib import Path

from counts import run
from verdict import Measured

BENCHMARKS = ("write", "queue", "persist", "reduce")
TIMES = re.compile(r"\b(ns|us|ms)\b|%|p99")
NOT_EVERYWHERE = re.compile(r"no AVX-512|\bclients\b|libdeflate|zlib")  # or of other libraries
SIZES = re.compile(r"^ratio to HDF5's")  # of compressed data


def measure(benchmark):
    """One quick run. By processor time where there is one, as others may use the machine."""
    with tempfile.TemporaryDirectory(prefix="damaris-bench.guard.") as folder:
        report = Path(folder) / "report.json"
        run([Path(os.environ["DAMARIS_BUILD_DIR"]) / "bin" / "damaris-bench", benchmark, "--quick", "--json", report])
        return quotients(benchmark, json.loads(report.read_text())["rows"])


def quotients(benchmark, rows):
    return [Measured("sizes" if SIZES.search(row["name"]) else benchmark, row["name"], row.get("cpu_ratio") or row["ratio"], row["better"])
            for row in rows if not TIMES.search(row["name"]) and not NOT_EVERYWHERE.search(row["name"])]

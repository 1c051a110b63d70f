"""Ten questions to the same program, recorded once by damaris record and once by dftracer, whose traces dftracer-utils reads.

Each question is a process of its own. The first one begins with the raw trace, so it includes unify, or the index of dftracer-utils.
"""

import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

BUILD = Path(os.environ.get("DAMARIS_BUILD_DIR", Path(__file__).resolve().parents[2] / "build/dev"))
# What is asked, the words of damaris query, and those of dftracer_view; None: it has no words for that.
QUESTIONS = (
    ("calls and seconds of each function", ["--sql", 'select function, count(*), sum("end" - "begin") from calls group by all'],
     ["--group-by", "name", "--agg", "count,sum:dur"]),
    ("seconds in each layer", ["Latency Breakdown Inclusive"], ["--group-by", "cat", "--agg", "sum:dur"]),
    ("the same without the layers below", ["Latency Breakdown Exclusive"], None),
    ("bytes of each file", ["--files"], ["--group-by", "file_path", "--agg", "sum:ret"]),
    ("mean time of a write", ["Latency Operation Avg"], ["--duql", 'name == "pwrite"', "--group-by", "pid", "--agg", "count,mean:dur"]),
    ("the longest write", ["Latency Operation Max"], ["--duql", 'name == "pwrite"', "--group-by", "pid", "--agg", "max:dur"]),
    ("calls of each process to each file", ["Call"], ["--group-by", "pid,file_path", "--agg", "count,sum:ret"]),
    ("bytes by second of each file", ["Throughput"], ["--group-by", "file_path", "--agg", "sum:ret,sum:dur"]),
    ("the first ten writes", ["Latency Operation List [0] [0-9]"], ["--duql", 'name == "pwrite"', "--limit", "10"]),
    ("seconds of calls within a tenth of a second", ["Latency Segment [0-0.1]"], None),
)  # fmt: skip


def why_not() -> str:
    """Why there is no comparison; empty if there is one."""
    for name in ("dftracer", "dftracer.utils"):
        if not importlib.util.find_spec(name):
            return f"{name} is not installed"
    return "" if shutil.which("dftracer_view") else "dftracer_view is not installed"


def record(folder: Path, calls: int) -> None:
    """The same program under both."""
    program = [BUILD / "bench/damaris_bench_calls", "write", str(calls), folder / "file"]
    (folder / "dftracer").mkdir(parents=True)
    library = Path(importlib.util.find_spec("dftracer").submodule_search_locations[0]) / "lib64/libdftracer_preload.so"
    traced = dict(os.environ, LD_PRELOAD=str(library), DFTRACER_ENABLE="1", DFTRACER_INIT="PRELOAD", DFTRACER_DATA_DIR="all", DFTRACER_INC_METADATA="1",
                  DFTRACER_LOG_FILE=str(folder / "dftracer/trace"))  # fmt: skip
    subprocess.run(["damaris", "record", "-o", folder / "run", *program], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(program, check=True, env=traced, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def seconds(words) -> float:
    begin = time.perf_counter()
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    if not done.stdout.strip():
        raise RuntimeError(f"no answer to {' '.join(map(str, words))}: {done.stderr[-300:]}")
    return time.perf_counter() - begin


def asked(folder: Path) -> list[tuple[float, float | None]]:
    """Seconds to each answer, ours and theirs, beginning with raw traces."""
    shutil.rmtree(folder / "run/store", ignore_errors=True)
    shutil.rmtree(folder / "dftracer/.dftindex", ignore_errors=True)
    return [(seconds([sys.executable, "-m", "damaris.verbs", "query", folder / "run", *ours]),
             seconds(["dftracer_view", "-d", folder / "dftracer", *theirs]) if theirs else None) for _, ours, theirs in QUESTIONS]  # fmt: skip


def compare(folder: Path, calls: int, repeats: int):
    """Theirs by ours of the first answer, and of all that both give, each a list; and the lines of a table."""
    record(folder, calls)
    rounds = [asked(folder) for _ in range(repeats)]
    first = [times[0][1] / times[0][0] for times in rounds]
    both = [sum(theirs for _, theirs in times if theirs) / sum(ours for ours, theirs in times if theirs) for times in rounds]

    def median(number, which):
        values = [times[number][which] for times in rounds]
        return "no answer" if None in values else f"{statistics.median(values):.2f}"

    lines = [[name, median(number, 0), median(number, 1)] for number, (name, *_) in enumerate(QUESTIONS)]
    return first, both, lines

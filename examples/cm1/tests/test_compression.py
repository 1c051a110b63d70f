"""The comparison with and without compression from outside: does it run, and is what it writes what other programs read?"""

import json
import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[3] / "bench" / "cm1" / "bench_compression.py"


def bench(*arguments):
    return subprocess.run([sys.executable, "-B", BENCH, *map(str, arguments)], env=os.environ, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=500)


def test_a_quick_one_prints_both_ways_and_leaves_only_its_json(tmp_path):
    done = bench("--quick", "--folder", tmp_path, "--json", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    report = json.loads((tmp_path / "report.json").read_text())
    assert {"processor", "cores", "memory_bytes", "system", "damaris"} <= report["machine"].keys() and report["quick"]
    names = [f"{what}, {which}, compression on / off" for what in ("time to solution", "step", "write phase")
             for which in ("median", "p99")]
    assert [row["name"] for row in report["rows"]] == names
    for row in report["rows"]:
        assert row["interval"][0] <= row["ratio"] <= row["interval"][1], row
        assert row["aim"] < row["good"] and row["better"] == "lower"
    off, on = report["details"]
    assert (off["way"], on["way"]) == ("off", "on")
    assert len(on["runs"]) == len(off["runs"]) == 2
    assert on["runs"][0]["stored_bytes"] < off["runs"][0]["stored_bytes"]


def test_wrong_usage_ends_with_2_and_says_what_is_allowed():
    for arguments, sentence in ((["--pairs", "none"], "1 or more"), (["--folder", "/nonexistent"], "there is no folder")):
        done = bench(*arguments)
        assert done.returncode == 2
        assert sentence in done.stderr

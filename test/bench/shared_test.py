"""bench shared as its users see it: its rows and its JSON, and that nothing is left. Never what it measures."""

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench" / "shared" / "bench_shared.py"


def bench(folder, *arguments):
    return subprocess.run([sys.executable, "-B", BENCH, "--quick", "--folder", folder, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=200)


def test_each_reduction_has_a_row_and_both_kinds_of_file(tmp_path):
    done = bench(tmp_path, "--servers", 2, "--reductions", "deflate;float16,zstd:1", "--json", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    report = json.loads((tmp_path / "report.json").read_text())
    assert [(one["name"], one["better"], one["good"], one["aim"]) for one in report["rows"]] == [
        (f"time of a step, {reduction}: single / per-server, 2 servers", "lower", 1.5, 1.1) for reduction in ("deflate", "float16,zstd:1")]
    assert all(one["ratio"] > 0 for one in report["rows"])
    assert [(one["reduction"], one["kind"], len(one["steps_s"][0])) for one in report["details"]] == [
        (reduction, kind, 2) for reduction in ("deflate", "float16,zstd:1") for kind in ("per-server", "single")]


def test_a_run_that_fails_is_reported_with_its_output(tmp_path):
    done = bench(tmp_path, "--servers", 2, "--reductions", "gzip")
    assert done.returncode == 1 and "gzip" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())

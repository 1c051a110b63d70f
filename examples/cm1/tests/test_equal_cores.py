"""bench cm1 from outside: does it run, what it writes, and its model of a dedicated core against cases that can be counted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "bench" / "cm1"
sys.path.insert(0, str(FOLDER))

sys.path.append(str(FOLDER.parents[1] / "examples" / "cm1"))
from points import break_even, most_gain, predict  # noqa: E402


def bench(*arguments):
    return subprocess.run([sys.executable, "-B", FOLDER / "bench_cm1.py", *map(str, arguments)], env=os.environ,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500)


def test_a_quick_one_measures_all_ways_and_leaves_only_what_was_asked_for(tmp_path):
    done = bench("--quick", "--cores", 2, "--folder", tmp_path, "--json", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    report = json.loads((tmp_path / "report.json").read_text())
    assert [detail["work"] for detail in report["details"]] == [1, 2]
    for detail, point in zip(report["details"], report["points"]):
        assert {way: len(runs) for way, runs in detail["runs"].items()} == {"fpp": 1, "collective": 1, "damaris": 1}
        assert set(detail["alone"]) == {"0", "1"}
        for runs in detail["runs"].values():
            # three outputs of 23 variables and more of 24 x 24 x 20 points
            assert len(runs[0]["writes_s"]) == 3 and runs[0]["stored_bytes"] > 3 * 23 * 24 * 24 * 20 * 4
        assert len(detail["runs"]["damaris"][0]["server_s"]) == 3
        assert point["predicted_s"] > 0


def groups():
    return {group for place in ("", "cpu") for group in Path("/sys/fs/cgroup", place).glob("damaris-bench.*")}


def test_more_cores_than_there_are_become_equal_parts_of_them(tmp_path):
    cores = 2 * len(os.sched_getaffinity(0))
    before = groups()
    done = bench("--quick", "--cores", cores, "--works", 1, "--folder", tmp_path, "--json", tmp_path / "report.json")
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["settings"]["part_of_a_core"] == 0.5 and report["settings"]["storage_bytes_per_s"] > 0
    assert all("parts of cores" in one["name"] for one in report["rows"])
    assert f"{cores} cores (a part of 0.5 of one each)" in done.stdout
    # Those of another benchmark on this machine may come and go meanwhile.
    assert not [group for group in groups() - before if not Path("/proc", group.name.split(".")[1]).exists()]


def test_the_slow_storage_slows_all_ways_down_alike(tmp_path):
    done = bench("--quick", "--cores", 2, "--works", 1, "--storage", "3MB/s", "--folder", tmp_path, "--json", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout + done.stderr
    detail = json.loads((tmp_path / "report.json").read_text())["details"][0]
    for way in ("fpp", "collective"):
        run = detail["runs"][way][0]
        assert sum(run["writes_s"]) >= 0.9 * run["stored_bytes"] / 3e6, way
    ours = detail["runs"]["damaris"][0]
    assert sum(ours["server_s"]) >= 0.9 * ours["stored_bytes"] / 3e6


def test_the_model_counts_an_output_that_is_hidden_one_that_is_not_and_a_buffer_that_is_full():
    assert predict(compute_s=10, visible_s=0, server_s=1, outputs=3, room=4) == 31  # the last one is waited for
    assert predict(compute_s=1, visible_s=0, server_s=10, outputs=3, room=4) == 40  # the server never rests
    assert predict(compute_s=1, visible_s=0, server_s=10, outputs=3, room=1) == 40
    assert predict(compute_s=4, visible_s=1, server_s=4, outputs=2, room=2) == 15


def test_the_break_even_is_that_of_the_paper_and_moves_with_what_is_measured():
    assert break_even(24) == pytest.approx(1 / 23)
    assert break_even(2) == 1
    # 44'17" on 24 cores, 41'46" on 23
    assert break_even(24, scaling=(41 * 60 + 46) / (44 * 60 + 17) * 23 / 24) == pytest.approx((41 * 60 + 46) / (44 * 60 + 17) - 1)
    assert most_gain(4, 1) == pytest.approx(1.5)


def test_wrong_usage_ends_with_2_and_says_what_is_allowed():
    for arguments, sentence in ((["--cores", "1"], "give 2 or more"), (["--storage", "fast"], "such as 20MB/s, or as-is"),
                                (["--works", "1,x"], "1 or more"), (["--json", "/nonexistent/x.json"], "there is no folder")):
        done = bench(*arguments)
        assert done.returncode == 2
        assert sentence in done.stderr

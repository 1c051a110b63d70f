"""bench phases as its users see it: the JSON, the page, how it ends. Never what it measures."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/phases", "bench/cm1", "examples/cm1")]
from run_phases import RunFailed, launch  # noqa: E402

BENCH = ROOT / "bench" / "phases" / "bench_phases.py"
PROGRAM = Path(os.environ["DAMARIS_BUILD_DIR"]) / "bench" / "damaris-bench-phases"
WAYS = subprocess.run([PROGRAM, "--ways"], capture_output=True, text=True, check=True).stdout.split()  # adios2 where it was found
NEED_MORE = ["adios2", "adios2-async"]
DEDICATED = ["damaris", "damaris-deflate"]
RANKS, PHASES = 4, 2


def bench(*arguments, **more):
    return subprocess.run([sys.executable, "-B", BENCH, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=200, **more)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick run of all ways with a sweep: its output, its JSON, its page, and what else it left."""
    folder = tmp_path_factory.mktemp("quick")
    done = bench("--quick", "--sweep", "--folder", folder, "--json", folder / "report.json", "--page", folder / "page.html")
    assert done.returncode == 0, done.stdout + done.stderr
    left = {path.name for path in folder.iterdir()}
    return done.stdout, json.loads((folder / "report.json").read_text()), (folder / "page.html").read_text(), left


def test_it_prints_a_line_for_each_way_and_leaves_only_what_was_asked_for(quick):
    output, _, _, left = quick
    assert all(len(line) <= 80 for line in output.splitlines()), output
    assert all(re.search(rf"^{way} ", output, re.MULTILINE) for way in WAYS)
    assert left == {"report.json", "page.html"}


def test_its_rows_have_the_form_of_all_benchmarks(quick):
    _, report, _, _ = quick
    assert {"processor", "cores", "memory_bytes", "system", "damaris"} <= report["machine"].keys() and report["quick"]
    assert [(row["name"], row["better"], row["good"], row["aim"]) for row in report["rows"]] == [
        ("write phase seen by the simulation, median: file per process / damaris", "higher", 10, 30),
        ("write phase seen by the simulation, median: collective / damaris", "higher", 30, 100),
        ("slowest rank of a write phase over its own memcpy", "lower", 10, 3)]
    for row in report["rows"]:
        assert 0 < row["interval"][0] <= row["ratio"] <= row["interval"][1], row


def test_its_details_tell_of_every_process_and_phase(quick):
    _, report, _, _ = quick
    assert [detail["way"] for detail in report["details"]] == WAYS
    for detail in report["details"]:
        computing = RANKS - (detail["way"] in DEDICATED)
        for run in detail["runs"]:
            for key in ("visible_s", "memcpy_s", "cpu_s"):
                assert np.shape(run[key]) == (PHASES, computing) and np.min(run[key]) > 0, key
            assert len(run["bytes"]) == computing and run["wall_s"] > np.sum(np.max(run["visible_s"], axis=1))
            assert ("server" in run) == (detail["way"] in DEDICATED)
            if "server" in run:
                assert len(run["server"]["write_s"]) == PHASES and len(run["server"]["interval_s"]) == PHASES - 1
        assert sum(rank["dedicated"] for rank in detail["cpu"]["ranks"]) == RANKS - computing


def test_all_ways_write_the_same_bytes_and_as_many_files_as_they_say(quick):
    _, report, _, _ = quick
    details = {detail["way"]: detail for detail in report["details"]}
    assert len({sum(run["bytes"]) for detail in details.values() for run in detail["runs"]}) == 1
    raw = PHASES * sum(report["details"][0]["runs"][0]["bytes"])
    for way, detail in details.items():
        assert (detail["stored_bytes"] < raw) == way.endswith("-deflate"), way
    for way, files in (("file-per-process", RANKS), ("collective", 1), ("grouped", 2), ("independent", 1), ("one-writer", 1)):
        assert details[way]["files"] == PHASES * files
    for way in DEDICATED:
        assert details[way]["files"] == PHASES + 3  # the manifest and the two views of the whole run
    for way in set(NEED_MORE) & set(WAYS):  # data, two files of metadata, an index, a profile: of each process where ADIOS2 has no MPI
        assert details[way]["files"] in (5, 5 * RANKS)


def test_a_way_that_is_not_built_in_is_left_out_and_told_and_refused_with_a_remedy(quick, tmp_path):
    output, report, _, _ = quick
    missing = [way for way in NEED_MORE if way not in WAYS]
    assert report["left_out"] == missing
    assert ("Not built in, and left out: adios2, adios2-async." in output) == bool(missing)
    if not missing:
        pytest.skip("ADIOS2 was found when this was configured")
    done = bench("--quick", "--ways", "adios2", "--folder", tmp_path)
    assert done.returncode == 1
    assert "there is no way adios2: ADIOS2 was not found" in done.stderr and "./dev setup" in done.stderr


def test_its_page_holds_every_picture_and_needs_nothing_from_outside(quick):
    _, report, page, _ = quick
    pictures = dict(re.findall(r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">', page))
    assert list(pictures) == ["Write phases, process by process", "Write times", "Use of the processor", "Size of the output"]
    for title, data in pictures.items():
        root = xml.fromstring(base64.b64decode(data))
        assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 20, title
    assert not re.search(r'<script|<link|(src|href)="(?!data:)', page)
    for name in [row["name"] for row in report["rows"]] + WAYS:
        assert name in page


def test_told_to_stop_it_leaves_no_folder_no_memory_and_no_process(tmp_path):
    # Which processes are left is looked at by scripts/bounded.
    with subprocess.Popen([sys.executable, "-B", BENCH, "--ways", "damaris", "--folder", tmp_path, "--phases", "1000"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(tmp_path.glob("*/place/run/results/rank0.jsonl")):
            time.sleep(0.05)
        # A killed server leaves its region only at some moments: this one stands for it.
        Path(f"/dev/shm/damaris.{os.geteuid()}.bench-{process.pid}.phases.0.n0.s0").touch()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "nothing is left running" in said
    assert not list(tmp_path.iterdir())
    assert not list(Path("/dev/shm").glob(f"damaris.*.bench-{process.pid}.*"))


def test_a_reason_that_the_launcher_lost_is_told(tmp_path):
    (tmp_path / "results").mkdir()
    with pytest.raises(RunFailed, match="ended with 3:\nlast words\nthe disk is gone$"):
        launch(["sh", "-c", "echo last words; echo the disk is gone | tee results/rank0.failed > results/rank1.failed; exit 3"], tmp_path, {})


def test_a_run_that_fails_is_told_with_its_reason(tmp_path):
    (tmp_path / "no.h5").write_text("no HDF5")
    done = bench("--quick", "--ways", "damaris", "--fields", tmp_path / "no.h5", "--folder", tmp_path)
    assert done.returncode == 1
    assert f"cannot open {tmp_path / 'no.h5'}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["no.h5"]


@pytest.mark.parametrize("arguments, sentence", [
    (["--ways", "nonsense"], "is none of: file-per-process,"), (["--bytes", "many"], "such as 24MiB"), (["--repeats", "0"], "1 or more"),
    (["--ranks", "1"], "are too few"), (["--folder", "/nonexistent"], "there is no folder"),
    (["--json", "/nonexistent/report.json"], "there is no folder"), (["--sweep", "--phases", "1"], "2 phases or more"),
    (["--fields", "/nonexistent"], "no file"), (["--storage", "cache,fast"], "such as 100MB"), (["--storage", "0MB"], "such as 100MB")])
def test_wrong_usage_ends_with_2_and_says_what_is_allowed(arguments, sentence):
    done = bench(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr

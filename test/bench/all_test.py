"""bench all as its users see it: a whole quick campaign, what it leaves, how it goes on, fails and ends. Never what it measures."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "all" / "bench_all.py"
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/all", "bench/cm1", "bench/page", "examples/cm1")]

from bench_all import PARTS, run_part  # noqa: E402
from rows import mark, quotient, row, row_line, short  # noqa: E402

# Rows of cm1 depend on what was measured, those of the others on the processor.
DEPENDS = re.compile(r"time to solution, (best|collective)|no AVX-512")


def words(*arguments):
    return [sys.executable, "-B", BENCH, *map(str, arguments)]


def bench(*arguments, **more):
    return subprocess.run(words(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1500, **more)


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


def rows_of(folder):
    return [(name, one["name"]) for name, entry in results_of(folder)["parts"].items() for one in entry.get("report", {"rows": []})["rows"]]


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick campaign: what it said, its folder."""
    folder = tmp_path_factory.mktemp("all")
    (folder / "runs").mkdir()
    done = bench("--quick", "--results", folder / "results", "--folder", folder / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list((folder / "runs").iterdir())
    return done.stdout, folder / "results"


@pytest.mark.long
def test_it_says_which_part_of_how_many_and_leaves_one_result_and_a_log_of_each(quick):
    said, folder = quick
    for number, name in enumerate(PARTS, 1):
        assert f"{number} of {len(PARTS)}: {name}\n  " in said
    assert {path.name for path in folder.iterdir()} == {"page.html", "figures.md", "results.json", *(f"{name}.log" for name in PARTS)}


@pytest.mark.long
def test_every_row_that_the_documents_cite_is_measured(quick):
    cited = re.findall(r"^\| `([\w-]+)`: (.+?) \|", (ROOT / "docs" / "performance.md").read_text(), re.MULTILINE)
    assert len(cited) > 40
    left_out = {name for name, entry in results_of(quick[1])["parts"].items() if "left_out" in entry}
    assert [one for one in cited if not DEPENDS.search(one[1]) and one[0] not in left_out and one not in rows_of(quick[1])] == []


@pytest.mark.long
def test_page_and_figures_have_every_row_and_need_nothing_from_outside(quick):
    page, figures = ((quick[1] / name).read_text() for name in ("page.html", "figures.md"))
    for part, name in rows_of(quick[1]):
        assert f"<td>{name.replace('>', '&gt;')}</td>" in page and f"| `{part}`: {name} |" in figures
    for chapter in page.split("<h2>")[1:]:
        assert "Not measured: left out" in chapter or chapter.count("Plotly.newPlot(") == 2, chapter[:100]
    assert not re.search(r'<script[^>]* src=|<link|<img', page) and "A quick campaign" in page


@pytest.mark.long
def test_what_is_there_is_only_drawn_anew_and_a_named_part_is_measured_again(quick):
    folder = quick[1]
    before = {name: entry["began"] + str(entry["seconds"]) for name, entry in results_of(folder)["parts"].items()}
    done = bench("--quick", "--results", folder)
    assert done.returncode == 0 and " of " not in done.stdout
    done = bench("--quick", "--results", folder, "--only", "queue")
    assert done.returncode == 0 and "1 of 1: queue" in done.stdout, done.stderr
    after = {name: entry["began"] + str(entry["seconds"]) for name, entry in results_of(folder)["parts"].items()}
    assert {name for name in after if after[name] != before[name]} <= {"queue"}
    done = bench("--results", folder)
    assert done.returncode == 1 and "holds a quick campaign; add --quick" in done.stderr


def test_a_part_that_fails_is_named_with_its_reason_and_the_others_go_on(tmp_path):
    (tmp_path / "no.h5").write_text("no HDF5")
    done = bench("--quick", "--results", tmp_path / "results", "--only", "reduce,queue", "--fields", tmp_path / "no.h5")
    assert done.returncode == 1 and "FAILED: it ended with 1: damaris-bench: " in done.stdout and "failed: reduce" in done.stderr
    page = (tmp_path / "results" / "page.html").read_text()
    assert "Not measured: it ended with 1: damaris-bench: " in page and "event against boost message_queue, 1 producer" in page
    assert "reduce: it ended with 1" in page


def test_a_result_stays_when_its_part_is_measured_again_in_vain(tmp_path):
    assert bench("--quick", "--results", tmp_path, "--only", "queue").returncode == 0
    rows = rows_of(tmp_path)
    done = bench("--quick", "--results", tmp_path, "--only", "queue", env=dict(os.environ, DAMARIS_BUILD_DIR="/nonexistent"))
    assert done.returncode == 1 and "it cannot be started" in done.stdout
    assert rows and rows_of(tmp_path) == rows


@pytest.mark.parametrize("text", ["{", "[]", '{"parts": {}}'])
def test_a_result_that_cannot_be_read_ends_it_before_anything_runs(tmp_path, text):
    (tmp_path / "results.json").write_text(text)
    done = bench("--quick", "--results", tmp_path, "--only", "queue")
    assert done.returncode == 1 and f"{tmp_path / 'results.json'} is not a result of bench all" in done.stderr and "remove it" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.parametrize("part, begun", [("phases", "**/cm1_stats.csv"), ("write", "**/*.xml")])
def test_interrupted_it_keeps_what_is_done_and_leaves_nothing_running(tmp_path, part, begun):
    # Which processes are left is looked at by scripts/bounded.
    runs, results = tmp_path / "runs", tmp_path / "results"
    runs.mkdir()
    results.mkdir()
    (results / "results.json").write_text('{"quick": false, "parts": {}}')
    with subprocess.Popen(words("--results", results, "--folder", runs, "--only", part), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(runs.glob(begun)):
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)  # as an interrupt, which a test in the background may not get
        _, said = process.communicate(timeout=200)
    assert process.returncode == 130, said
    assert f"--results {results} continues" in said and "nothing is left running" in said
    assert not list(runs.iterdir()) and {path.name for path in results.iterdir()} == {"results.json", f"{part}.log"}


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("end, limit_s, status", [("exit 77", 100, 77), ("exit 3", 100, 3), ("kill -KILL $$", 100, -9),
                                                  ("sleep 300", 6, "it did not end within 6 s")])
def test_what_a_part_leaves_running_is_ended_also_in_a_group_of_its_own(tmp_path, end, limit_s, status):
    assert run_part(["bash", "-c", f"sleep 300 & echo $!; set -m; sleep 301 & echo $!; {end}"], tmp_path / "log", limit_s) == status
    pids = [int(word) for word in re.findall(r"^\d+$", (tmp_path / "log").read_text(), re.MULTILINE)]
    assert len(pids) == 2 and not any(map(is_running, pids))


@pytest.mark.parametrize("arguments, sentence", [(["--only", "wriet"], "'wriet' is none of: write, queue"),
                                                 (["--folder", "/nonexistent"], "no folder"),
                                                 (["--fields", "/nonexistent"], "no file")])
def test_wrong_usage_is_named_before_anything_runs(arguments, sentence):
    done = bench(*arguments)
    assert done.returncode == 2 and sentence in done.stderr


@pytest.mark.parametrize("script", ["all/bench_all.py", "cm1/bench_cm1.py", "cm1/bench_compression.py", "guard/guard.py",
                                    "phases/bench_phases.py", "query/bench_query.py", "view/bench_view.py"])
def test_the_help_is_no_wider_than_80_columns_and_says_what_to_type(script):
    only_python = ["-S"] if script.startswith("all/") else []
    done = subprocess.run([sys.executable, *only_python, "-B", ROOT / "bench" / script, "--help"], capture_output=True, text=True,
                          check=True,
                          env=dict(os.environ, COLUMNS="200"))
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert done.stdout.startswith("usage: ./dev bench")


@pytest.mark.parametrize("ratio, better, state", [(8, "higher", "*"), (7.9, "higher", "+"), (4, "higher", "+"), (3.9, "higher", ""),
                                                  (1.3, "lower", "*"), (1.4, "lower", "+"), (2, "lower", "+"), (2.1, "lower", "")])
def test_a_row_reaches_its_aim_or_what_is_good_or_neither(ratio, better, state):
    assert mark(row("a", (ratio, ratio, ratio), better, *((4, 8) if better == "higher" else (2, 1.3)))) == state


@pytest.mark.parametrize("value, text", [(0.856, "0.856"), (0.0368, "0.037"), (-0.1234, "-0.12"), (0, "0"), (1234.5, "1234"),
                                         (-999.9, "-1000"), (-0.000123, "-0.00")])
def test_a_row_in_a_terminal_is_no_wider_than_80_columns(value, text):
    assert short(value) == text
    assert len(row_line(row("a", (value, value, value), "higher", 4, 8), "x" * 45)) <= 80


def test_a_quotient_is_that_of_the_pooled_medians_and_its_interval_comes_from_whole_runs():
    assert quotient([[4, 6, 100]], [[2, 3, 4]]) == (2, 2, 2)
    value, low, high = quotient([[2], [4], [6]], [[1], [2], [2]])
    assert value == 2 and low == 2 and high == 3

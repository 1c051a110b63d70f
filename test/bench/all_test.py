"""bench all as its users see it: a whole quick campaign, what it leaves, how it goes on, fails and ends. Never what it measures."""

import base64
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "all" / "bench_all.py"
sys.path[1:1] = [str(ROOT / folder) for folder in ("bench/all", "bench/cm1", "examples/cm1")]

from budgets import BUDGETS  # noqa: E402
from cores_summary import BEST_ROW, HALF_ROW  # noqa: E402
from document import FROM, TO, rewrite, texts_of  # noqa: E402
from parts import NAMES  # noqa: E402
from results import read_results  # noqa: E402
from verdicts import groups_of, read_remarks  # noqa: E402

# Rows that depend on what was measured, or on the machine's cores.
ALSO = [(part, f"time to solution, {one[0]}") for part in ("cm1", "cm1-parts") for one in (BEST_ROW, HALF_ROW)]


def words(*arguments):
    return [sys.executable, "-B", BENCH, *map(str, arguments)]


def bench(*arguments, **more):
    return subprocess.run(words(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500, **more)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A quick campaign with a document: what it said, its folder, the document."""
    folder = tmp_path_factory.mktemp("all")
    document = folder / "document.md"
    document.write_text("".join(f"{FROM.format(name)}\nwas here\n{TO}\nstays\n" for name in ("figures", "when it pays")))
    (folder / "runs").mkdir()
    done = bench("--quick", "--results", folder / "results", "--folder", folder / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    if "cm1-parts: left out" in done.stdout:
        pytest.skip(" ".join(line for line in done.stdout.splitlines() if "left out" in line))
    results = read_results(folder / "results")
    rewrite(document, texts_of(results, groups_of(results, read_remarks()), True))  # the command writes no quick figures into documents
    assert not list((folder / "runs").iterdir())
    return done.stdout, folder / "results", document.read_text()


def rows_of(folder):
    return [(name, row["name"]) for name in NAMES for row in json.loads((folder / f"{name}.json").read_text())["rows"]]


def test_it_tells_which_part_of_how_many_and_leaves_a_result_and_a_log_of_each(quick):
    said, folder, _ = quick
    for number, name in enumerate(NAMES, 1):
        assert re.search(rf"^{number} of {len(NAMES)}: {name}, about .*; the rest after it about ", said, re.MULTILINE), said
        assert re.search(rf"^{number} of {len(NAMES)}: {name}: done in ", said, re.MULTILINE), said
    results = {f"{name}.{end}" for name in NAMES for end in ("json", "log")}
    assert {path.name for path in folder.iterdir()} == {"page.html", "campaign.json"} | results


def test_every_budget_finds_its_rows(quick):
    rows = rows_of(quick[1]) + ALSO
    for title, wanted in BUDGETS:
        for one in wanted:
            assert any(part == one.part and re.fullmatch(one.rows, name) for part, name in rows), (title, one)


def test_every_remark_is_about_a_row_that_some_benchmark_has(quick):
    rows = rows_of(quick[1]) + ALSO
    for part_pattern, pattern, _ in read_remarks():
        assert any(re.fullmatch(part_pattern, part) and re.fullmatch(pattern, name) for part, name in rows), pattern


def test_every_row_has_a_remark_for_the_day_it_misses_its_aim(quick):
    for part, name in rows_of(quick[1]) + ALSO:
        assert any(re.fullmatch(one, part) and re.fullmatch(pattern, name) for one, pattern, _ in read_remarks()), (part, name)


def test_the_page_has_every_row_and_every_part_with_pictures_and_needs_nothing_from_outside(quick):
    page = (quick[1] / "page.html").read_text()
    for _, name in rows_of(quick[1]):
        assert name.replace("'", "&#x27;").replace(">", "&gt;") in page, name
    chapters = re.split(r"<h2>", page)
    for name in NAMES:
        chapter, = (text for text in chapters if text.startswith(f"{name}: "))
        pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', chapter)
        assert pictures, name
        for data in pictures:
            assert len(list(xml.fromstring(base64.b64decode(data)).iter("{http://www.w3.org/2000/svg}path"))) > 10, name
    assert not re.search(r'<script|<link|(src|href)="(?!data:)', page)
    assert "A quick campaign" in page


def test_the_document_has_every_row_and_keeps_the_rest(quick):
    document = quick[2]
    assert document.count("stays\n") == 2 and "was here" not in document
    for part, name in rows_of(quick[1]):
        assert f"| `{part}`: {name} |" in document
    assert "| work | r, file per process |" in document


def as_drawn(page):
    """Without the identifiers of clip paths: they are made from all digits of numbers whose last ones differ from process to process."""
    def picture(found):
        return re.sub(r"\bp[0-9a-f]{10}\b", "", base64.b64decode(found[1]).decode())
    return re.sub(r"base64,([^\"]*)", picture, page.read_text())


def test_what_is_there_is_only_drawn_anew_and_a_named_part_is_measured_again(quick, tmp_path):
    folder = quick[1]
    before = {name: (folder / f"{name}.json").stat().st_mtime_ns for name in NAMES}
    done = bench("--quick", "--results", folder, "--page", tmp_path / "again.html")
    assert done.returncode == 0 and "all parts have a result" in done.stdout
    assert as_drawn(tmp_path / "again.html") == as_drawn(folder / "page.html")
    done = bench("--quick", "--results", folder, "--only", "queue")
    assert done.returncode == 0, done.stderr
    assert {name for name in NAMES if (folder / f"{name}.json").stat().st_mtime_ns != before[name]} == {"queue"}
    done = bench("--results", folder)
    assert done.returncode == 2 and "holds results of a quick campaign; add --quick" in done.stderr


def test_a_part_that_fails_is_told_with_the_end_of_its_log_and_the_others_go_on(tmp_path):
    (tmp_path / "no.h5").write_text("no HDF5")
    done = bench("--quick", "--results", tmp_path / "results", "--only", "reduce,queue", "--fields", tmp_path / "no.h5")
    assert done.returncode == 1
    told = r"reduce: FAILED.*\n  it ended with 1: damaris-bench: .*\n  the end of .*reduce.log:\n(  \| .*\n)*  \| damaris-bench: "
    assert re.search(told, done.stdout), done.stdout
    assert "failed: reduce; the page says so" in done.stderr
    page = (tmp_path / "results" / "page.html").read_text()
    assert "Not measured: it ended with 1: damaris-bench: " in page and "event against boost message_queue, 1 producer" in page
    assert "Not measured: it was not run." in page


def test_a_program_that_is_missing_is_a_part_that_fails(tmp_path):
    done = bench("--quick", "--results", tmp_path / "results", "--only", "queue", env=dict(os.environ, DAMARIS_BUILD_DIR=str(tmp_path)))
    assert done.returncode == 1 and "it cannot be started" in done.stdout


def test_a_result_that_is_no_json_ends_it_before_anything_runs(tmp_path):
    (tmp_path / "slots.json").write_text("{")
    done = bench("--quick", "--results", tmp_path, "--only", "queue")
    assert done.returncode == 1 and f"{tmp_path / 'slots.json'} is no result" in done.stderr and "remove it" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["slots.json"]


def test_a_document_without_marks_ends_it_before_anything_runs(tmp_path):
    (tmp_path / "plain.md").write_text("plain")
    done = bench("--results", tmp_path / "results", "--only", "queue", "--document", tmp_path / "plain.md")
    assert done.returncode == 1 and "plain.md has no place for figures" in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("part, begun", [("phases", "**/rank0.jsonl"), ("write", "**/*.xml")])
def test_interrupted_it_keeps_what_is_done_and_leaves_nothing_running(tmp_path, part, begun):
    # Which processes are left is looked at by scripts/bounded.
    runs, results = tmp_path / "runs", tmp_path / "results"
    runs.mkdir()
    results.mkdir()
    (results / "queue.json").write_text(json.dumps(dict(machine={}, rows=[], details=[])))
    with subprocess.Popen(words("--results", results, "--folder", runs, "--only", part), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(runs.glob(begun)):
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)  # as an interrupt, which a test in the background may not get
        _, said = process.communicate(timeout=100)
    assert process.returncode == 130, said
    assert f"./dev bench all --results {shlex.quote(str(results))}" in said and "nothing is left running" in said
    assert not list(runs.iterdir()) and {path.name for path in results.iterdir()} == {"queue.json", f"{part}.log"}

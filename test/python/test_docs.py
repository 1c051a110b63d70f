"""The commands and questions of docs/tracing.md, docs/view.md and docs/trace-format.md, in their order, in one folder, and what they are said to print."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

DOCS = Path(os.environ["DAMARIS_SOURCE_DIR"]) / "docs"
FLASH = [Path(one) for one in os.environ.get("FLASH_PROGRAMS", "").split(":") if one]
CM1 = os.environ.get("CM1_PROGRAM", "")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [text for word, text in BLOCK.findall((DOCS / page).read_text()) if word == language]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    if not shutil.which("lmp") or not shutil.which("mpirun.openmpi"):
        pytest.skip("LAMMPS with OpenMPI is not installed")
    folder = tmp_path_factory.mktemp("docs")
    (folder / "bin").mkdir()
    (folder / "bin/mpirun").symlink_to(shutil.which("mpirun.openmpi"))
    return folder


def do(place, words):
    environment = os.environ | {"PATH": f"{place}/bin:{os.environ['PATH']}", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "DAMARIS_PYTHON": sys.executable}  # fmt: skip
    done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[-1]}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def printed(place):
    """What each block of commands printed."""
    return {text: do(place, ["bash", "-euc", text]) for text in blocks("tracing.md", "sh")}


def row(text, file):
    """The words of a file's line in what is printed, or shown in the page."""
    [found] = [line.split() for line in text.splitlines() if line.startswith(file + " ")]
    return found


def test_the_first_screens_are_as_shown(printed):
    shown = blocks("tracing.md", "")[0]
    for output in list(printed.values())[:2]:
        for file in ("numbers.txt", "sorted.txt"):
            assert row(output, file) == row(shown, file)
    percent = next(line for line in shown.splitlines() if "%" in line)
    assert percent.split(" were")[0] in next(iter(printed.values()))


def test_a_model_under_mpi_is_shown_file_by_file(printed, place):
    shown, output = blocks("tracing.md", "")[1], next(text for command, text in printed.items() if "in.melt" in command)
    for file in ("dump.mpiio", "r.100.mpiio", "r.50.mpiio", "log.lammps", "in.melt"):
        assert row(output, file)[-2:] == row(shown, file)[-2:] == ["rank", "0"]


def test_csv_and_json_agree_with_the_files(printed, place):
    assert printed
    rows = json.loads((place / "files.json").read_text())
    assert [list(map(str, one.values())) for one in rows if one["rank"] is not None] == [
        list(one.values()) for one in csv.DictReader((place / "files.csv").open()) if one["rank"]]  # fmt: skip
    written = {}
    for one in rows:
        written[one["file"]] = written.get(one["file"], 0) + one["written"]
    for name in ("dump.mpiio", "log.lammps"):
        assert written[f"{place}/{name}"] == (place / name).stat().st_size


def test_the_ranks_gave_all_bytes_to_mpiio(printed, place):
    output = next(text for command, text in printed.items() if "--sql" in command)
    rows = [line.rsplit(None, 2)[1:] for line in output.splitlines() if "dump.mpiio" in line]
    assert [rank for rank, _ in rows] == ["0", "1", "2"] and sum(int(count) for _, count in rows) == (place / "dump.mpiio").stat().st_size


def test_python_reads_it(printed, place):
    assert printed
    for text in blocks("tracing.md", "python"):
        output = do(place, [sys.executable, "-c", text])
        assert f"{place}/dump.mpiio"[:10] in output and "mpiio" in output


def test_the_store_is_read_by_duckdb_alone(printed, place, monkeypatch):
    assert printed
    (place / "run").symlink_to("melt")
    monkeypatch.chdir(place)
    answers = [duckdb.sql(question).fetchall() for text in blocks("trace-format.md", "sql") for question in text.split(";") if question.strip()]
    assert len(answers) == 6
    assert {(name, rank): count for name, rank, _, count, _ in answers[0]}[f"{place}/dump.mpiio", 0] == (place / "dump.mpiio").stat().st_size
    assert answers[1] == [] and answers[3] == [] and answers[4][0][0] > 1000 and answers[5][0][1] == "exit"
    assert {pair[:2] for pair in answers[2]} == {(a, b) for a in range(3) for b in range(3) if a != b}


def test_the_format_page_names_each_column(printed, place):
    page = (DOCS / "trace-format.md").read_text()
    for table in ("calls/*", "objects", "processes", "losses", "gaps", "messages", "collectives", "requests", "members"):
        described = duckdb.sql(f"describe select * from '{place}/melt/store/{table}.parquet'").fetchall()
        together = table in ("messages", "collectives", "requests", "members")
        named = page.split("### messages," if together else f"### {table.removesuffix('/*')}\n")[1].split("###")[0]
        named = named.split(f"| {table} |")[1].split("\n\n")[0] if together else named
        first_cells = {word for line in named.splitlines() if line.startswith("| ") for word in line.split("|")[1].replace(",", " ").split()}
        assert {name for name, *_ in described} <= first_cells, table


def test_a_plan_takes_what_was_recorded_and_is_replayed(printed, place):
    assert printed
    output = "".join(do(place, ["bash", "-euc", text]) for text in blocks("replay.md", "sh") if "melt" in text)
    [virtual] = re.findall(r"virtual time [\d.]+ s, recorded [\d.]+ s \((.*?) %\)", output)
    assert abs(float(virtual)) < 0.5
    assert output.count("replayed in") == 2 and (place / "r.html").stat().st_size > 0
    assert json.loads((place / "r.json").read_text())
    assert not list(place.glob("damaris-replay.*"))
    assert json.loads((place / "served.json").read_text())["servers"]["count"] == 1


@pytest.mark.skipif(not CM1, reason="SKIP: this build has no examples")
def test_a_program_is_advised_and_changed(place):
    for path in (Path(CM1), DOCS.parent / "examples/cm1/cm1.xml"):
        (place / path.name).symlink_to(path)
    first, changed = [text for text in blocks("replay.md", "sh") if "cm1" in text]
    output = do(place, ["bash", "-euc", first])
    shown = blocks("replay.md", "")[0]
    for word in ("as it is", "collective", "1 dedicated core", "Fastest:", "Confidence:", "Dedicated cores:", "Buffer:", "Back-pressure:"):
        assert any(line.startswith(word) for line in shown.splitlines()) and any(line.startswith(word) for line in output.splitlines())
    assert "start.xml: 23 variables" in output and "Simulation cm1" in output
    advice = json.loads((place / "advice.json").read_text())
    assert advice["best"] == min(advice["ways"], key=lambda one: one["median_seconds"])["name"]
    assert "cm1out" in do(place, ["bash", "-euc", changed])
    manifest = [json.loads(line) for line in (place / "cm1out.jsonl").read_text().splitlines()]
    assert sum("stored_s" in line for line in manifest) == 3


def test_the_viewer_says_where_it_is_and_writes_a_page(printed, place):
    [served, listed, page, export] = [line.split("#")[0].split() for text in blocks("view.md", "sh") for line in text.splitlines()]
    assert printed and served == ["damaris", "view", "melt"]
    with subprocess.Popen(listed, cwd=place, stdout=subprocess.PIPE, text=True) as viewer:
        assert re.match(r"http://127\.0\.0\.1:\d+/\?token=\S{32}$", viewer.stdout.readline())
        viewer.send_signal(signal.SIGINT)
    do(place, page)
    assert (place / "melt.html").stat().st_size > 300_000
    do(place, export)
    assert (place / "melt.pftrace").stat().st_size > 100_000


def test_the_slow_checkpoint_is_found_and_mended(place):
    (place / "bin/mpicc").symlink_to(shutil.which("mpicc.openmpi"))
    printed = [do(place, ["bash", "-euc", text]) for text in blocks("slow-checkpoint.md", "sh")]
    assert "540,000 writes of 8 bytes" in " ".join(printed[1].split())
    assert (place / "slow.png").stat().st_size > 0 and "I3" not in printed[3]
    counts = [int(line.split()[0].replace(",", "")) for line in printed[4].splitlines() if line[:1].isdigit() or line.lstrip()[:1].isdigit()]
    assert counts == [540_000, 9]


@pytest.mark.skipif(not FLASH, reason="SKIP: this build has no examples")
def test_the_habits_of_the_flash_pattern_are_found_and_mended(place):
    for program in FLASH:
        (place / program.name).symlink_to(program)
    habits, mended = [do(place, ["bash", "-euc", text]) for text in blocks("../examples/flash_pattern/README.md", "sh")]
    assert habits.splitlines()[0] == mended.splitlines()[0]  # the same sums
    found, left = [set(re.findall(r"^(C[123]) ", one, re.MULTILINE)) for one in (habits, mended)]
    assert found and not left  # how much each gains is a matter of the machine
    assert (place / "flash.html").stat().st_size > 300_000

"""damaris info and query: what they print, and what they say to what cannot work."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest
import raw_files as raw

from damaris.verbs import text
from damaris.verbs.files import File, User

FOLDER = "/scratch/project/a_very_long_name_of_a_folder/run_0001"


@pytest.fixture
def recording(run, number):
    """Three ranks write one file together; rank 0 writes a log, reads its input, a library and Python's files; rank 2 opens a file only."""

    def file(object, path, at, bytes=0, function="pwrite"):
        return raw.text(raw.PATH, path, object=object) + raw.call(number(function), at, at + 10**6, object=object, bytes=bytes, place=0)

    for rank in (0, 1, 2):
        slots = raw.process(pid=100 + rank, rank=rank, ranks=3) + file(1, f"{FOLDER}/field.h5", 10**6, 1024 * (rank + 1))
        if rank == 0:
            slots += file(2, f"{FOLDER}/log", 2 * 10**6, 100, "fwrite") + file(3, f"{FOLDER}/input", 3 * 10**6, 50, "read")
            slots += file(4, "/usr/lib/libm.so", 4 * 10**6, 832, "read") + file(5, "/home/u/lib/python3/x.pyc", 5 * 10**6, 9, "read")
        if rank == 2:
            slots += file(6, f"{FOLDER}/lock", 10**6, 0, "open")
        raw.write(run, raw.chunk(slots + raw.end(10**9, wchar=1024 * (rank + 1) + (100 if rank == 0 else 0))), name=f"node.{100 + rank}.1")
    return run


def words(text):
    return " ".join(text.split())


def test_info_is_one_screen(recording, verb):
    status, output, complaint = verb("info", recording)
    lines = output.splitlines()
    assert (status, complaint) == (0, "") and len(lines) <= 30 and all(len(line) <= 80 for line in lines)
    assert lines[0] == "model input" and lines[1].startswith("3 ranks, 3 processes on 1 host, 0.01 s from 1970-01-01 00:00:01 UTC")
    assert "posix 7 6.0 KiB 891 B 0.007" in words(output) and "stdio 1 100 B 0.001" in words(output)
    assert f"written, in {FOLDER}: file written by" in words(output).replace("─", "").replace("  ", " ")
    assert "field.h5 6.0 KiB ranks 0-2, each 1.0 KiB - 3.0 KiB" in words(output) and "100.0 % of the bytes written were seen (6,244 of 6,244)" in words(output)


def test_files_are_one_line_each_without_the_systems(recording, verb):
    status, output, _ = verb("query", recording, "--files")
    assert status == 0 and all(len(line) <= 80 for line in output.splitlines())
    assert [words(line) for line in output.splitlines() if "rank" in line] == ["field.h5 6.0 KiB ranks 0-2, each 1.0 KiB - 3.0 KiB", "log 100 B rank 0", "input 50 B rank 0"]
    assert "3 files without a byte, or of the system and only read, are left out; --all lists them." in words(output)
    everything = words(verb("query", recording, "--files", "--all")[1])
    assert "/usr/lib/libm.so 832 B rank 0" in everything and "lock rank 2" in everything and "left out" not in everything


def test_csv_and_json_have_a_row_for_each_file_and_process_with_raw_numbers(recording, verb):
    rows = list(csv.DictReader(io.StringIO(verb("query", recording, "--files", "--csv")[1])))
    assert [(row["file"], row["rank"], row["written"], row["writes"]) for row in rows if row["file"].endswith("field.h5")] == [
        (f"{FOLDER}/field.h5", "0", "1024", "1"), (f"{FOLDER}/field.h5", "1", "2048", "1"), (f"{FOLDER}/field.h5", "2", "3072", "1")]  # fmt: skip
    same = json.loads(verb("query", recording, "--files", "--json")[1])
    assert len(same) == len(rows) == 8 and sum(row["written"] for row in same) == 6244 and sum(row["read"] for row in same) == 891


def test_a_question_in_sql_is_a_table_csv_or_json(recording, verb):
    question = "select layer, sum(bytes)::bigint as bytes from calls group by layer order by layer"
    assert words(verb("query", recording, "--sql", question)[1]).replace("─", "").split() == ["layer", "bytes", "posix", "7035", "stdio", "100"]
    assert verb("query", recording, "--sql", question, "--csv")[1] == "layer,bytes\nposix,7035\nstdio,100\n"
    assert json.loads(verb("query", recording, "--sql", question, "--json")[1])[1] == {"layer": "stdio", "bytes": 100}


def test_a_serial_program_has_no_ranks_but_a_name(run, number, verb):
    raw.write(run, raw.chunk(raw.process(program="/usr/bin/cp") + raw.text(raw.PATH, "/d/a", object=1) + raw.call(number("write"), 1, 2, object=1, bytes=3, place=0)))
    assert "a 3 B cp" in words(verb("query", run, "--files")[1])
    assert words(verb("info", run)[1]).startswith("model input 1 process on 1 host")


@pytest.mark.parametrize("verb_and_options", [["info"], ["query", "--files"]])
def test_a_recording_without_a_call_says_so(run, verb, verb_and_options):
    (run / "raw").mkdir(parents=True)
    (run / "recording.json").write_text("{}")
    status, output, _ = verb(*verb_and_options, run)
    assert status == 0 and ("No call was recorded" in output or "No file was written or read" in output)


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        (["info", "nothing"], 1, "there is no recording 'nothing'; make one with 'damaris record -o nothing PROGRAM'"),
        (["unify", "nothing"], 1, "there is no recording 'nothing'"),
        (["info", "."], 1, "'.' is no recording; make one with"),
        (["query", "run"], 2, "ask one question: QUESTION, --files or --sql"),
        (["query", "run", "--files", "--csv", "--json"], 2, "not allowed with"),
        (["query", "run", "--sql", "select 1", "--all"], 2, "--all belongs to --files"),
        (["query", "run", "--sql", "selec 1"], 1, "the question is not understood: "),
        (["query", "run", "--sql", "select nix from calls"], 1, "the question is not understood: "),
        (["info", "--nix", "run"], 2, "unrecognized arguments: --nix"),
    ],
)
def test_what_cannot_work_is_one_sentence(recording, verb, given, status, said):
    ended, _, complaint = verb(*given)
    assert ended == status and said in complaint and "Traceback" not in complaint


@pytest.mark.parametrize(("module", "verb", "more"), [("duckdb", "info", ""), ("numpy", "info", ""), ("pyarrow", "info", ""), ("rich", "info", ""),
                                                      ("plotly", "report", " plotly")])  # fmt: skip
def test_a_missing_module_names_the_pip_command(recording, tmp_path, module, verb, more):
    (tmp_path / f"{module}.py").write_text(f"raise ModuleNotFoundError('hidden', name='{module}')")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-m", "damaris.verbs", verb, recording], env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith(f"damaris {verb}: the Python module '{module}' is missing; install it with: ")
    assert done.stderr.endswith(f"-m pip install numpy pyarrow duckdb rich{more}\n") and done.stderr.count("\n") == 1


def test_a_reader_that_leaves_is_no_failure_to_talk_about(recording):
    done = subprocess.run([f"'{sys.executable}' -m damaris.verbs query '{recording}' --files --csv | true"], shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(recording, verb):
    recording.chmod(0o555)
    status, _, complaint = verb("info", recording)
    recording.chmod(0o755)
    assert status == 1 and "cannot make the store" in complaint


def test_a_unified_store_needs_neither_raw_files_nor_the_decoder(recording, verb):
    assert verb("unify", recording)[0] == 0
    done = subprocess.run([sys.executable, "-c", """import shutil, sys
import damaris.kernel
damaris.kernel.library = damaris.kernel.libraries = None
import damaris
print(len(damaris.open(sys.argv[1]).files().fetchall()))""", str(recording / "store")], capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.stdout, done.stderr) == ("8\n", "")


@pytest.mark.parametrize(
    ("users", "said"),
    [
        ([User(0, "m", 5), User(1, "m", 5), User(3, "m", 5)], "ranks 0-1,3, each 5 B"),
        ([User(0, "m", 5), User(1, "m", 1024), User(2, "m")], "ranks 0-1, each 5 B - 1.0 KiB"),
        ([User(None, "/bin/seq", 5), User(None, "/bin/sort", 0, 5)], "seq, read by sort"),
        ([User(0, "m", 5, 5), User(None, "/bin/sh", 0, 5)], "rank 0, read by rank 0, sh"),
        ([User(0, "m", 5, 5)], "rank 0"),
        ([User(2, "m"), User(1, "m")], "ranks 1-2"),
    ],
)
def test_a_line_says_who_wrote_and_who_read(users, said):
    assert File("/d/a", dict(enumerate(users))).by() == said


@pytest.mark.parametrize(("numbers", "said"), [([], ""), ([3], "3"), ([0, 1, 2, 5, 7, 8], "0-2,5,7-8"), ([2, 2, 1], "1-2")])
def test_ranges(numbers, said):
    assert text.ranges(numbers) == said


@pytest.mark.parametrize(("count", "said"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1024**2 - 1, "1.0 MiB"), (5 * 1024**5, "5120.0 TiB")])
def test_sizes(count, said):
    assert text.size(count) == said


def test_a_long_path_loses_its_middle():
    assert text.shortened("/scratch/project/run/output.h5", 20) == "/scrat...n/output.h5"

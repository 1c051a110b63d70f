"""What cannot be recorded is refused before the program starts, in a sentence; what goes wrong later leaves the program alone."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from recorded import BUILD, FLAVOUR, PROGRAMS, Run, both, record

PROCESS = PROGRAMS / "recorded_process"
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}
mpi = pytest.mark.skipif(FLAVOUR == "OFF", reason="SKIP: this build has no MPI")


def refused(done, *words):
    """It has printed one line with these words, and no program has run."""
    assert done.status == 2 and done.out == b"" and done.err.count(b"\n") == 1, done
    for word in words:
        assert str(word).encode() in done.err
    assert not list(done.folder.iterdir())
    return True


def changed(path, change):
    """A copy of the process program as `change` leaves its bytes."""
    path.write_bytes(change(bytearray(PROCESS.read_bytes())))
    path.chmod(0o755)
    return path


def other_machine(program):
    program[18:20] = (243).to_bytes(2, "little")  # RISC-V
    return program


def test_a_program_that_is_not_there(tmp_path):
    refused(record(["nothing_of_this_name"], tmp_path), "nothing_of_this_name", "PATH")
    refused(record(["./nothing"], tmp_path), "./nothing")
    refused(record([tmp_path], tmp_path), tmp_path)
    assert not (tmp_path / "run").exists()


def test_a_program_that_may_not_be_executed(tmp_path):
    (tmp_path / "plain").write_text("text")
    refused(record([tmp_path / "plain"], tmp_path), "plain", "chmod +x")


def test_wrong_options(tmp_path):
    refused(record([], tmp_path), "name the program")
    refused(record([PROCESS, "prints"], tmp_path, options=["--wrong"]), "--wrong", "--help")


@pytest.mark.skipif(not (PROGRAMS / "recorded_static").exists(), reason="SKIP: there is no static C library")
def test_a_static_program(tmp_path):
    refused(record([PROGRAMS / "recorded_static"], tmp_path), "recorded_static", "statically linked")


def test_a_program_of_another_architecture(tmp_path):
    refused(record([changed(tmp_path / "foreign", other_machine)], tmp_path), "foreign", "architecture")


@pytest.mark.skipif(os.geteuid() != 0, reason="SKIP: only root can make a program with another user's id")
def test_a_program_that_changes_its_user(tmp_path):
    program = changed(tmp_path / "other_user", bytes)
    os.chown(program, 65534, 65534)
    program.chmod(0o755 | stat.S_ISUID)
    refused(record([program], tmp_path), "other_user", "setuid")


@mpi
def test_a_program_of_another_mpi(tmp_path):
    other = OTHER[FLAVOUR]
    compiler = shutil.which(f"mpicc.{other}")
    if compiler is None:
        pytest.skip(f"SKIP: there is no {other}")
    subprocess.run([compiler, Path(__file__).parent / "ranks.c", "-o", tmp_path / "ranks"], check=True)
    refused(record([tmp_path / "ranks", "ends"], tmp_path), "ranks", other)
    script = tmp_path / "script"
    with tempfile.TemporaryDirectory() as folder:  # the name of an interpreter has no blanks
        (Path(folder) / "ranks").symlink_to(tmp_path / "ranks")
        script.write_text(f"#!{folder}/ranks\n")
        script.chmod(0o755)
        refused(record([script], tmp_path), "ranks", other)


@pytest.mark.parametrize("name", ["file", "file/run", "/proc/run"])
def test_a_folder_that_cannot_be_made(name, tmp_path):
    (tmp_path / "file").write_text("kept")
    refused(record([PROCESS, "prints"], tmp_path, options=["-o", tmp_path / name]), Path(name).name)
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_with_something_else(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/thesis.txt").write_text("kept")
    refused(record([PROCESS, "prints"], tmp_path, options=["--force"]), "thesis.txt")
    assert (tmp_path / "run/thesis.txt").read_text() == "kept"


@pytest.mark.parametrize("options", [[], ["--force"]])
@pytest.mark.parametrize("name", ["raw", "store"])
def test_a_folder_with_something_of_the_user(name, options, tmp_path):
    """That has the name of a part of a recording."""
    (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / name / "thesis.txt").write_text("kept")
    refused(record([PROCESS, "prints"], tmp_path, options=options), name, "not empty", "-o")
    assert (tmp_path / "run" / name / "thesis.txt").read_text() == "kept"


def test_an_earlier_recording_is_replaced_only_by_force(tmp_path):
    first = record([PROCESS, "ends_at_once"], tmp_path)
    assert first.status == 3 and first.written() == {"written": 40}
    shutil.rmtree(first.folder)
    refused(record([PROCESS, "aborts"], tmp_path), "run", "--force")
    assert first.written() == {"written": 40}
    (tmp_path / "run/report.html").write_text("of the first")
    second = record([PROCESS, "aborts"], tmp_path, options=["--force"])
    assert not (tmp_path / "run/report.html").exists()
    assert second.written() == {"written": 50}


def test_the_commands_of_a_batch_script_are_jobs_of_their_own(tmp_path):
    batch = {**os.environ, "SLURM_JOB_ID": "7"}
    assert record([PROCESS, "ends_at_once"], tmp_path, env=batch).status == 3
    assert record([PROCESS, "ends_at_once"], tmp_path, env=batch).status == 2
    for _ in range(2):
        assert record([PROCESS, "ends_at_once"], tmp_path, options=["--force"], env={**batch, "SLURM_STEP_ID": "1"}).status == 3


@mpi
def test_all_ranks_of_a_job_replace_an_earlier_recording_once(tmp_path):
    for options in ([], ["--force"]):
        run = record([PROGRAMS / "recorded_ranks", "ends"], tmp_path, ranks=3, options=options)
        assert run.status == 0, run.err
        assert run.one("select count(*) from processes") == 3
    refused_all = record([PROGRAMS / "recorded_ranks", "ends"], tmp_path, ranks=3)
    assert refused_all.status != 0 and b"--force" in refused_all.err


def record_on_small_disk(size, case, tmp_path):
    """The disk is one that only these commands see."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("SKIP: a small file system cannot be mounted here")
    (tmp_path / "work").mkdir()
    (tmp_path / "disk").mkdir()
    script = f"""mount -t tmpfs -o size={size} tmpfs {tmp_path}/disk || exit 96
        damaris record -o {tmp_path}/disk/run {PROCESS} {case}; status=$?
        cp -r {tmp_path}/disk/run {tmp_path}; exit $status"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=tmp_path / "work", capture_output=True, check=False)
    return Run(done.returncode, done.stdout, done.stderr, tmp_path / "work", tmp_path / "run")


@pytest.mark.parametrize("size, calls", [("300k", 0), ("1500k", 30_000)])
def test_a_full_disk_is_a_loss_that_is_counted(size, calls, tmp_path):
    run = record_on_small_disk(size, "killed", tmp_path)
    assert run.status == 128 + 9 and run.sizes()["posix"] == 150_000, run.err
    assert run.tables.losses.fetchall() and run.one("select count(*) from calls") >= calls


def test_room_for_one_thread_only_loses_the_calls_of_the_other(tmp_path):
    run = record_on_small_disk("1536k", "second_thread", tmp_path)
    assert run.status == 0 and run.sizes() == {"main": 5, "thread0": 3000}, run.err
    assert run.written() == {"main": 5}
    assert run.one("select sum(calls)::bigint from losses") >= 1002  # of the thread, besides names


def test_a_program_with_a_blank_in_its_path(tmp_path):
    (tmp_path / "a folder").mkdir()
    program = changed(tmp_path / "a folder/a program", bytes)
    _, recorded = both([program, "executed"], tmp_path)
    assert recorded.written() == {"before": 10, "after": 20}


def test_a_script(tmp_path):
    script = tmp_path / "script"
    script.write_text("#! /bin/sh -e\nprintf 12345 >by_script\nprintf 'a line\\n'\n")
    script.chmod(0o755)
    plain, recorded = both([script], tmp_path)
    assert plain.out == b"a line\n" and recorded.written() == {"by_script": 5}


def test_another_preloaded_library_stays(tmp_path):
    plain, recorded = both(["grep", "-c", "libanl", "/proc/self/maps"], tmp_path, env={**os.environ, "LD_PRELOAD": "libanl.so.1"})
    assert plain.status == 0 and int(recorded.out) > 0


def test_an_empty_environment(tmp_path):
    (tmp_path / "work").mkdir()
    done = subprocess.run([BUILD / "bin/damaris-record", "-o", tmp_path / "run", PROCESS, "started"], env={}, cwd=tmp_path / "work", check=False)
    run = Run(done.returncode, b"", b"", tmp_path / "work", tmp_path / "run")
    assert run.status == 0 and run.written()["piped"] == 5

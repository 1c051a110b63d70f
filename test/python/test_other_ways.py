"""`damaris replay --as`: the plan's outputs through servers of Damaris, collective calls, or a file for each process."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

RANKS = Path(os.environ.get("DAMARIS_BUILD_DIR", Path(__file__).resolve().parents[2] / "build/dev")) / "lib/damaris/damaris-replay-ranks"
WAYS = ["dedicated", "collective", "file-per-process"]
STEPS, SIZE = 3, 200_000
needs_mpi = pytest.mark.skipif(not RANKS.exists(), reason="SKIP: this build has no MPI")


def program(steps=STEPS, size=SIZE, gap=1_000_000, processes=2):
    """Each process reads what was there, and writes two blocks to a file of its own in each step, behind a barrier."""
    lines = ["damaris plan 1", "recorded 9000000", "file 0 4096 deck", *(f"file {1 + i} 0 out.{i}" for i in range(processes * steps))]
    for process in range(processes):
        lines += [f"process {process} rank {process} host n1 pid {process}", "o 0 r # 1000", "r 0 0 4096 # 1000", "x 0"]
        for step in range(steps):
            file = 1 + process * steps + step
            lines += [f"c {gap}", f"b {step} 100", f"o {file} wct # 2000", f"w {file} 0 {size} # 50000", f"w {file} {size} {size} # 50000", f"x {file}"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan"
    path.write_text(program())
    return path


@pytest.fixture
def place(tmp_path):
    """A folder that holds a file of the user's, and the check that nothing else is left in it, nor of servers in memory."""
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / "mine").write_text("untouched")
    before = regions()
    yield folder
    assert [one.name for one in folder.iterdir()] == ["mine"]
    assert not regions() - before


def regions():
    """Without those of replays that other tests run meanwhile: such a replay takes them away before it ends, so what is looked at last counts."""
    found = Path("/dev/shm").glob(f"damaris.{os.geteuid()}.replay-*")
    return {one for one in found if not Path("/proc", re.search(r"replay-(\d+)", one.name)[1]).exists() and one.exists()}


def run(*words, **more):
    return subprocess.run(["damaris", "replay", *map(str, words)], capture_output=True, text=True, check=False, **more)


@needs_mpi
@pytest.mark.parametrize("way", WAYS)
def test_a_way_is_run_and_leaves_the_folder_as_it_was(plan, place, way):
    done = run(plan, "--as", way, "--on", place, "--repeat", "2", "--json", place.parent / "r.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{plan} as {way} on {place}: 2 processes, {STEPS} outputs, 2.3 MiB" in " ".join(done.stdout.split())
    assert re.search(r"takes \d+\.\d+ s \(median of 2, ", done.stdout) and max(map(len, done.stdout.splitlines()[1:])) <= 80
    report = json.loads((place.parent / "r.json").read_text())
    assert report["way"] == way and len(report["totals_seconds"]) == 2
    assert report["written_bytes"] == 2 * 2 * SIZE * STEPS and report["largest_output_bytes"] == 4 * SIZE
    gaps = STEPS * 0.001 * (2 if way == "dedicated" else 1)  # of two cores one serves, so the other computes for both
    assert min(report["totals_seconds"]) >= gaps and 0 < report["io_seconds"]["mean"] <= report["io_seconds"]["most"]
    if way == "dedicated":
        assert report["servers"]["count"] == 1 and report["servers"]["stretch"] == 2 and report["servers"]["stored_seconds"] > 0
    assert ("servers" in report) == (way == "dedicated")


@needs_mpi
@pytest.mark.parametrize(("percent", "stretch"), [(0, 1), (50, 1.5), (100, 2)])
def test_scaling_says_how_much_longer_the_others_compute(plan, place, percent, stretch):
    plan.write_text(program(gap=100_000_000))
    report = json.loads(run(plan, "--as", "dedicated", "--scaling", percent, "--on", place, "--json", "-").stdout)
    assert report["servers"]["stretch"] == stretch and report["total_seconds"] >= STEPS * 0.1 * stretch


@needs_mpi
def test_the_servers_store_every_byte(plan, tmp_path):
    import h5py

    done = run(plan, "--as", "dedicated", "--on", tmp_path, "--keep")
    [folder] = tmp_path.glob("damaris-replay.*")
    assert done.stderr.strip() == f"the files are in {folder}"
    sizes = []
    for path in sorted((folder / "outputs").glob("output.*.h5")) or sorted((folder / "outputs").rglob("*.h5")):
        with h5py.File(path) as file:
            file.visititems(lambda _, item: sizes.append(item.size) if isinstance(item, h5py.Dataset) and item.size > 1000 else None)
    assert sum(sizes) == 2 * 2 * SIZE * STEPS


@needs_mpi
def test_collective_files_hold_each_output(plan, tmp_path):
    run(plan, "--as", "collective", "--on", tmp_path, "--keep")
    [folder] = tmp_path.glob("damaris-replay.*")
    assert {one.name: one.stat().st_size for one in (folder / "outputs").iterdir()} == {str(step): 4 * SIZE for step in range(STEPS)}


def test_files_of_processes_hold_what_each_writes(plan, tmp_path):
    run(plan, "--as", "file-per-process", "--on", tmp_path, "--keep")
    [folder] = tmp_path.glob("damaris-replay.*")
    sizes = {one.name: one.stat().st_size for one in (folder / "outputs").iterdir()}
    assert sizes == {f"{step}.{process}": 2 * SIZE for step in range(STEPS) for process in range(2)}
    assert (folder / "deck").stat().st_size == 4096 and not list(folder.glob("out.*"))


@needs_mpi
def test_threads_of_a_process_are_on_one_core(place, tmp_path):
    lines = program(processes=4).replace("host n1 pid 2", "host n1 pid 0 thread 1").replace("host n1 pid 3", "host n1 pid 1 thread 1")
    (tmp_path / "plan").write_text(lines)
    report = json.loads(run(tmp_path / "plan", "--as", "dedicated", "--on", place, "--json", "-").stdout)
    assert report["processes"] == 4 and report["servers"]["stretch"] == 2


@needs_mpi
def test_each_node_has_its_own_servers(place, tmp_path):
    lines = program(processes=4).replace("process 2 rank 2 host n1", "process 2 rank 2 host n2").replace("process 3 rank 3 host n1", "process 3 rank 3 host n2")
    (tmp_path / "plan").write_text(lines)
    report = json.loads(run(tmp_path / "plan", "--as", "dedicated", "--on", place, "--json", "-").stdout)
    assert report["servers"]["count"] == 2 and report["servers"]["cores"] == 1 and report["servers"]["stretch"] == 2


@needs_mpi
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_leaves_the_folder_as_it_was(place, tmp_path, way, number):
    (tmp_path / "long").write_text(program() + "c 100000000000\n")
    child = subprocess.Popen(["damaris", "replay", str(tmp_path / "long"), "--as", way, "--on", str(place)], stderr=subprocess.PIPE, text=True)
    while not list(place.glob("damaris-replay.*/outputs/*[0-9]*")):
        time.sleep(0.01)
    child.send_signal(number)
    _, said = child.communicate()
    assert child.returncode == 128 + number
    assert said == f"damaris replay: interrupted; '{place}' is as it was before\n"


@needs_mpi
@pytest.mark.parametrize("way", ["dedicated", "collective"])
def test_a_rank_that_is_killed_ends_the_replay(place, tmp_path, way):
    (tmp_path / "long").write_text(program() + "c 100000000000\n")
    child = subprocess.Popen(["damaris", "replay", str(tmp_path / "long"), "--as", way, "--on", str(place)], stderr=subprocess.PIPE, text=True)
    while not list(place.glob("damaris-replay.*/outputs/*[0-9]*")):
        time.sleep(0.01)
    [folder] = place.glob("damaris-replay.*")
    ranks = [int(one.parent.name) for one in Path("/proc").glob("[0-9]*/cmdline") if starts(one, RANKS) and str(folder) in words_of(one)]
    os.kill(max(ranks), signal.SIGKILL)
    _, said = child.communicate()
    assert child.returncode == 1 and ("the processes of the replay have ended early; 'mpirun" in said or "is gone" in said)


def words_of(cmdline):
    try:
        return cmdline.read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def starts(cmdline, program):
    words = words_of(cmdline)
    return bool(words) and os.path.basename(words[0]) == program.name


@needs_mpi
@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_is_told_and_the_folder_is_as_it_was(plan, tmp_path, way):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small file system")
    # As large as the plan's bytes, but not as its pages: the check before does not count these.
    script = f'mkdir small && mount -t tmpfs -o size=2348k small small && damaris replay plan --as {way} --on small; echo "status $?"; ls -A small; df --output=used small | tail -1'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=plan.parent, capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout.split() == ["status", "1", "0"]
    assert "No space left" in done.stderr or "has failed" in done.stderr or "lack" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["plan", "--as", "magic", "--on", "."], 2, "--as magic: there is no such way; known: file-per-process, collective, dedicated"),
        (["plan", "--as", "dedicated", "--evaluate"], 2, "--as needs I/O; give --on DIR in place of --evaluate"),
        (["plan", "--as", "dedicated"], 2, "say either --on DIR"),
        (["plan", "--as", "collective", "--cores", "1", "--on", "."], 2, "--cores says how many serve; give --as dedicated"),
        (["plan", "--as", "collective", "--scaling", "50", "--on", "."], 2, "--scaling says how much longer the others compute; give --as dedicated"),
        (["plan", "--as", "dedicated", "--scaling", "101", "--on", "."], 2, "--scaling"),
        (["plan", "--as", "collective", "--on", ".", "-o", "a.png"], 2, "a picture with -o shows how far a replay is off; leave out --as"),
        (["plan", "--as", "dedicated", "--cores", "2", "--on", "."], 1, "2 of a node's 2 cores cannot serve, as nobody would compute; give fewer with --cores"),
        (["empty", "--as", "dedicated", "--on", "."], 1, "1 of a node's 0 cores cannot serve"),
        (["small", "--as", "collective", "--on", "."], 1, "small: no process writes a file in blocks of 16 KiB or more"),
        (["plan", "--as", "collective", "--on", "nowhere"], 1, "cannot make a folder in 'nowhere'"),
    ],
)
def test_what_cannot_work_is_refused_with_the_remedy(plan, tmp_path, words, status, said):
    (tmp_path / "small").write_text("damaris plan 1\nfile 0 0 a\nprocess 0\nw 0 0 10\n")
    (tmp_path / "empty").write_text("damaris plan 1\n")
    before = sorted(tmp_path.iterdir())
    done = run(*words, cwd=tmp_path)
    assert done.returncode == status and said in done.stderr and done.stdout == ""
    assert sorted(tmp_path.iterdir()) == before


@needs_mpi
def test_a_launcher_that_is_not_there_is_told(plan, place):
    done = run(plan, "--as", "collective", "--on", place, env=dict(os.environ, DAMARIS_MPIEXEC="/nowhere/mpirun"))
    assert done.returncode == 1 and "cannot start '/nowhere/mpirun', which starts MPI programs; install it, or name another in DAMARIS_MPIEXEC" in done.stderr

"""`damaris advise`: which ways it runs, what it concludes from their times, and the XML that it writes."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
import raw_files as raw

from damaris import advise
from damaris.errors import Refused

RANKS = Path(os.environ.get("DAMARIS_BUILD_DIR", Path(__file__).resolve().parents[2] / "build/dev")) / "lib/damaris/damaris-replay-ranks"
SIZE, MS = 100_000, 1_000_000
WORLD, FILE, DATASET, LOG = 1, 2, 9, 20


@pytest.fixture
def recorded(run, number, monkeypatch):
    """recorded(processes): each writes two blocks in each of three steps behind a barrier, to files of its own or a shared one."""

    monkeypatch.setattr(advise, "cores_here", lambda: 8, raising=False)

    def make(processes=2, files=True, datasets=(), size=SIZE, hosts=1, mpiio=False, program="/bin/storm", pieces=1, logs=False):
        for rank in range(processes):
            words = raw.about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=processes)
            body = raw.process(pid=100 + rank, host=f"n{rank % hosts}", rank=rank, ranks=processes, program=program) + raw.text(raw.DESCRIPTION, words, object=WORLD)
            for step in range(3):
                at = 1000 + step * 10 * MS
                path = f"/data/out{step}.{rank}.h5" if files else f"/data/out{step}.h5"
                file = FILE + step
                body += raw.text(raw.PATH, path, object=file) + raw.call(number("MPI_Barrier"), at, at + MS + rank, object=WORLD)
                body += raw.call(number("open"), at + 2 * MS, at + 2 * MS + 100, object=file, place=os.O_RDWR | os.O_CREAT)
                for block in range(2):
                    begin, place = at + (3 + block) * MS, (0 if files else rank * 2 * size) + block * size
                    if datasets:
                        name, kind, extents = datasets[block]
                        about = raw.about(kind="dataset", name=name.format(step), parent=file, type=kind, extents=extents)
                        body += raw.text(raw.DESCRIPTION, about, object=DATASET + 2 * step + block)
                    for piece in range(pieces):
                        at_piece, own = begin + 10 + 1000 * piece, size // pieces
                        body += raw.call(number("pwrite"), at_piece, at_piece + 990, depth=1 if datasets or mpiio else 0, object=file, bytes=own, place=place + piece * own)
                    if mpiio:
                        body += raw.call(number("MPI_File_write_at"), begin, begin + 2000, object=file, bytes=size, place=place)
                    if datasets:
                        body += raw.call(number("H5Dwrite"), begin, begin + 2000, object=DATASET + 2 * step + block, bytes=size)
                body += raw.call(number("close"), at + 6 * MS, at + 6 * MS + 100, object=file)
            log = raw.text(raw.PATH, f"/data/log.{rank}", object=LOG) + raw.call(number("pwrite"), 2000, 3000, object=LOG, bytes=10, place=0)
            raw.write(run, raw.chunk(body), *[raw.chunk(log, thread=1)] * logs, name=f"n{rank % hosts}.{100 + rank}.1")

    return make


@pytest.fixture
def figures(monkeypatch):
    """figures({way: seconds, ...}): what the replays are said to have taken; a text is why one fails. Returns the ways that were asked for."""
    asked = []

    def make(**seconds):
        def replayed(words):
            way = words[words.index("--as") + 1] if "--as" in words else "as_it_is"
            cores = int(words[words.index("--cores") + 1]) if "--cores" in words else 0
            asked.append(way + (f" {cores}" if cores else ""))
            found = seconds[way.replace("-", "_")]
            found = found[cores] if isinstance(found, dict) else found
            if isinstance(found, str):
                raise Refused(found)
            times, busy = (found, 0.1) if isinstance(found, list) else found
            io = {"io_seconds": {"mean": 0.5}, "kinds": [{"kind": "write", "replayed_seconds": 1.0}, {"kind": "barrier", "replayed_seconds": 9.0}]}
            return {"totals_seconds": times, "notes": ["2 reads are left out."], **io, "servers": {"busy_share": busy, "buffer_bytes": 96 << 20}}

        monkeypatch.setattr(advise, "replayed", replayed)
        return asked

    return make


def told(verb, run, *words):
    status, output, complaints = verb("advise", run, "--json", "advice.json", *words)
    assert (status, complaints) == (0, "")
    assert max(map(len, output.splitlines()[3:])) <= 80
    return " ".join(output.split()), json.loads((run.parent / "advice.json").read_text())


def test_dedicated_cores_are_recommended_where_they_are_fastest(recorded, figures, verb, run):
    recorded()
    asked = figures(as_it_is=[0.027, 0.028, 0.0265], collective=[0.04] * 3, dedicated=[0.02] * 3)
    output, advice = told(verb, run)
    assert asked == ["as_it_is", "collective", "dedicated 1"]  # each process has files of its own as it is
    assert (advice["best"], advice["cores"], advice["confidence"], advice["buffer_bytes"]) == ("1 dedicated core", 1, "high", 96 << 20)
    assert "Dedicated cores: 1 a node" in output and "Buffer: 96.0 MiB a server" in output and "servers store for 10.0 % of the time" in output
    assert "as it is 0.027 0.026 0.028 0.500 +0.0 % collective 0.040" in output and "1 dedicated core 0.020 0.020 0.020 0.500 -25.9 %" in output


def test_the_scaling_of_the_program_is_taken_into_account(recorded, figures, verb, run, monkeypatch):
    recorded()
    figures(as_it_is=[0.03], collective=[0.03], dedicated=[0.02])
    asked, was = [], advise.replayed
    monkeypatch.setattr(advise, "replayed", lambda words: (asked.append(words), was(words))[1])
    output, _ = told(verb, run, "--scaling", "50")
    assert [words[words.index("--scaling") + 1] for words in asked if "--scaling" in words] == ["50"]
    assert "taken to need 1 + 0.5 D/(N-D) of the time" in output


def test_none_are_recommended_where_the_program_is_fastest_as_it_is(recorded, figures, verb, run):
    recorded()
    figures(as_it_is=[0.0265] * 3, collective=[0.0267] * 3, dedicated=[0.05] * 3)
    output, advice = told(verb, run, "-o", "start.xml")
    assert (advice["best"], advice["cores"]) == ("as it is", 0) and "Dedicated cores: none" in output
    assert advice["confidence"] == "medium" and "no more than the replay is off the recording" in output


def test_a_gain_within_the_spread_is_of_low_confidence(recorded, figures, verb, run):
    recorded()
    figures(as_it_is=[0.027, 0.03, 0.04], collective=[0.05] * 3, dedicated=[0.02, 0.025, 0.035])
    _, advice = told(verb, run)
    assert (advice["best"], advice["confidence"], advice["reason"]) == ("1 dedicated core", "low", "as it is took as long in some repetitions")


def test_one_repetition_is_no_ground_for_high_confidence(recorded, figures, verb, run):
    recorded()
    figures(as_it_is=[0.027], collective=[0.04], dedicated=[0.02])
    output, advice = told(verb, run, "--repeat", "1")
    assert advice["confidence"] == "medium" and "nobody knows how far the ways scatter; give --repeat 3" in output


def test_more_processes_than_cores_are_no_ground_for_high_confidence(recorded, figures, verb, run, monkeypatch):
    recorded(processes=9)
    figures(as_it_is=[0.027] * 3, collective=[0.04] * 3, dedicated=[0.02] * 3)
    output, advice = told(verb, run)
    assert advice["confidence"] == "medium" and "9 processes played on 8 cores" in output


def test_many_small_writes_to_a_file_count_as_what_is_written_at_once(recorded, figures, verb, run):
    recorded(pieces=25)
    asked = figures(as_it_is=[0.0265] * 3, collective=[0.03] * 3, dedicated=[0.02] * 3)
    told(verb, run, "-o", "start.xml")
    assert asked == ["as_it_is", "collective", "dedicated 1"]
    [layout] = checked(run.parent / "start.xml").iter("layout")
    assert layout.get("dimensions") == str(2 * SIZE)


def test_a_replay_that_is_far_off_the_recording_is_of_medium_confidence(recorded, figures, verb, run):
    recorded()
    figures(as_it_is=[0.08] * 3, collective=[0.05] * 3, dedicated=[0.02] * 3)
    assert told(verb, run)[1]["confidence"] == "medium"


def test_more_cores_are_tried_while_the_servers_are_short_of_time(recorded, figures, verb, run):
    recorded(processes=8)
    asked = figures(as_it_is=[0.03], collective=[0.04], dedicated={1: ([0.029], 0.95), 2: ([0.02], 0.85), 4: ([0.05], 0.9)})
    output, advice = told(verb, run)
    assert [one for one in asked if "dedicated" in one] == ["dedicated 1", "dedicated 2", "dedicated 4"]
    assert (advice["best"], advice["cores"]) == ("2 dedicated cores", 2) and "so the buffer fills: docs/back-pressure.md has the choices" in output


def test_threads_that_write_are_no_cores(recorded, figures, verb, run):
    recorded(processes=2, logs=True)
    asked = figures(as_it_is=[0.03], collective=[0.04], dedicated={1: ([0.029], 0.95)})
    output, advice = told(verb, run)
    assert [one for one in asked if "dedicated" in one] == ["dedicated 1"] and advice["processes"] == 2 and "2 processes, recorded" in output


def test_a_way_that_cannot_be_run_is_told_and_the_others_count(recorded, figures, verb, run):
    recorded(files=False)
    asked = figures(as_it_is=[0.03], collective="this damaris was built without MPI", dedicated="this damaris was built without MPI", file_per_process=[0.02])
    output, advice = told(verb, run)
    assert asked == ["as_it_is", "file-per-process", "collective", "dedicated 1"]
    assert "collective could not be run: this damaris was built without MPI" in output and advice["best"] == "file per process"


def test_calls_of_mpiio_are_what_another_way_takes_the_place_of(recorded, figures, verb, run, monkeypatch):
    recorded(files=False, mpiio=True)
    figures(as_it_is=[0.03], collective=[0.03], dedicated=[0.03], file_per_process=[0.03])
    layers, was = [], advise.replayed
    monkeypatch.setattr(advise, "replayed", lambda words: (layers.append(Path(words[0]).read_text().split("layer ")[1].split()[0]), was(words))[1])
    told(verb, run)
    assert layers == ["posix", "mpiio", "mpiio", "mpiio"]


def test_what_it_cannot_know_is_said(recorded, figures, verb, run):
    recorded(processes=64, hosts=2)
    figures(as_it_is=[0.03], collective=[0.03], dedicated=[0.03])
    _, advice = told(verb, run)
    assert advice["nodes"] == 2
    said = " ".join(advice["unknown"])
    for word in ("scales", "while it was recorded", "cores: 64 processes", "memory bandwidth", "network", "file system", "2 reads are left out"):
        assert word in said


def checked(path):
    done = subprocess.run(["damaris", "check", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return ElementTree.parse(path).getroot()


def test_the_xml_has_the_datasets_by_name_and_is_accepted(recorded, figures, verb, run):
    # Of the second all processes write a part.
    recorded(datasets=[("/step{}/fields/theta", "float64", "125x100"), ("/step{}/rain fall", "float32", "50x500")])
    figures(as_it_is=[0.03], collective=[0.03], dedicated=[0.02])
    output, _ = told(verb, run, "-o", "start.xml")
    assert "start.xml: 2 variables; try: damaris check start.xml" in output
    root = checked(run.parent / "start.xml")
    layouts = {one.get("name"): (one.get("type"), one.get("dimensions"), one.get("global")) for one in root.iter("layout")}
    assert {one.get("name"): layouts[one.get("layout")] for one in root.iter("variable")} == {
        "theta": ("real64", "125,100", None), "rain_fall": ("real32", "50,500", None)}  # fmt: skip
    assert [one.get("name") for one in root.iter("group")] == ["step", "fields"]
    assert root.find("architecture/dedicated").get("cores") == "1" and root.find("architecture/buffer").get("size") == "96MiB"
    assert root.get("name") == "storm"


def test_a_part_of_a_dataset_has_its_place_in_the_whole(recorded, figures, verb, run):
    recorded(datasets=[("/a", "float32", "100x500"), ("/b", "int32", "7x9000")])
    figures(as_it_is=[0.03], collective=[0.03], dedicated=[0.02])
    told(verb, run, "-o", "start.xml")
    layouts = [(one.get("dimensions"), one.get("global")) for one in checked(run.parent / "start.xml").iter("layout")]
    assert layouts == [("50,500", "100,500"), ("25000", None)]


def test_a_dataset_with_the_name_of_a_group_and_a_program_with_dashes_are_accepted(recorded, figures, verb, run):
    recorded(datasets=[("/step{}/theta", "float64", "125x100"), ("/step", "float32", "50x500")], program="/bin/my---storm")
    figures(as_it_is=[0.03], collective=[0.03], dedicated=[0.02])
    told(verb, run, "-o", "start.xml")
    root = checked(run.parent / "start.xml")
    assert [one.get("name") for one in root.iter("variable")] == ["theta", "step_"] and root.get("name") == "my---storm"


def test_without_datasets_the_xml_has_the_files_and_sizes(recorded, figures, verb, run):
    recorded()
    figures(as_it_is=[0.03], collective=[0.03], dedicated=[0.02])
    told(verb, run, "-o", "start.xml")
    root = checked(run.parent / "start.xml")
    [variable], [layout] = root.iter("variable"), root.iter("layout")
    assert variable.get("name") == "out" and layout.get("type") == "uint8" and layout.get("dimensions") == str(2 * SIZE)


def test_a_recording_for_which_no_way_makes_a_difference_is_refused(recorded, verb, run):
    recorded(size=100)
    status, output, complaints = verb("advise", run)
    assert (status, output) == (1, "") and "no process of this recording writes a file in blocks of 16 KiB or more" in complaints


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["run", "--on", "nowhere"], 1, "cannot make a folder in 'nowhere': No such file or directory; name a folder that can be written with --on"),
        (["run", "--repeat", "0"], 2, "--repeat: a whole number, 1 or more"),
        (["run", "--scaling", "101"], 2, "--scaling: a whole number from 0 to 100"),
        (["run", "-o", "no/a.xml"], 2, "there is no folder 'no' for 'a.xml'"),
        (["nothing"], 1, "there is no recording 'nothing'"),
    ],
)
def test_what_cannot_work_is_refused_with_the_remedy(recorded, verb, run, words, status, said):
    recorded()
    assert verb("advise", *words)[0::2][0] == status
    assert said in verb("advise", *words)[2]


@pytest.mark.parametrize("caught", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_folder(recorded, run, caught):
    recorded()
    place = run.parent / "temporary"
    place.mkdir()
    environment = dict(os.environ, TMPDIR=str(place))
    child = subprocess.Popen(["damaris", "advise", str(run), "--repeat", "1000"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list(run.parent.glob("damaris-replay.*")) and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(caught)
    assert child.wait() == 128 + caught
    assert list(place.iterdir()) == [] and not list(run.parent.glob("damaris-replay.*"))


@pytest.mark.skipif(not RANKS.exists(), reason="SKIP: this build has no MPI")
def test_all_ways_are_really_run_and_leave_the_folder_as_it_was(recorded, verb, run):
    recorded()
    output, advice = told(verb, run, "--repeat", "1", "-o", "start.xml")
    assert {one["name"]: len(one["seconds"]) for one in advice["ways"]} == {"as it is": 1, "collective": 1, "1 dedicated core": 1}
    assert advice["best"] == min(advice["ways"], key=lambda one: one["seconds"])["name"]
    assert sorted(one.name for one in run.parent.iterdir()) == ["advice.json", "run", "start.xml"]
    checked(run.parent / "start.xml")

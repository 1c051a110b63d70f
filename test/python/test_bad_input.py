"""What may be wrong with a recording that is asked: each is one clear sentence, or an answer that says what is missing."""

import json
import shutil

import pytest
import raw_files as raw

from damaris.store import VERSION

MS = 10**6
VERBS = (["info"], ["query", "Call"], ["query", "--files"], ["report", "--codes"], ["report"])


@pytest.fixture
def recording(run, number):
    slots = raw.process(rank=0, ranks=1) + raw.text(raw.PATH, "/out/a", object=1)
    for i in range(3):
        slots += raw.call(number("pwrite"), (i + 1) * MS, (i + 1) * MS + 1000, object=1, bytes=100, place=100 * i)
    raw.write(run, raw.chunk(slots + raw.end(10 * MS, wchar=300)))
    return run


def each(verb, run, of=VERBS):
    """What each verb says of a recording: exit status, output, complaint."""
    return [verb(name, run, *words) for name, *words in of]


def only_sentences(said, status):
    for ended, _, complaint in said:
        assert ended == status and complaint.count("\n") <= 1 and "Traceback" not in complaint
    return [complaint for *_, complaint in said]


def test_one_that_is_not_unified_is_unified_first(recording, verb):
    assert not (recording / "store").exists()
    assert verb("query", recording, "Accesses [0]", "--csv")[1] == "process,call,accesses\n0,0,1\n0,1,1\n0,2,1\n"
    assert (recording / "store/store.json").exists()


def test_a_folder_whose_name_is_a_pattern(recording, verb):
    strange = recording.rename(recording.parent / "run [1-3]* of 'it'?")
    for status, output, complaint in each(verb, strange):
        assert (status, complaint) == (0, "") and (output or "codes")
    assert verb("query", strange, "Call", "--csv")[1] == "process,server,operations,bytes,target\n0,1,3,300,/out/a\n"


def test_a_raw_file_that_is_cut_short(recording, verb):
    [path] = (recording / "raw").iterdir()
    path.write_bytes(path.read_bytes()[: raw.CHUNK // 2])
    said = each(verb, recording)
    assert all(status == 0 and complaint == "" for status, _, complaint in said)
    assert "node.100.1.trace" in said[0][1] and "node.100.1.trace" in (recording / "report.html").read_text()


def test_a_recording_with_losses(recording, verb, number):
    slots = raw.process(pid=101, rank=1, ranks=2) + raw.text(raw.LOSS, "the disk was full", place=7) + raw.call(number("pwrite"), MS, 2 * MS, bytes=1)
    raw.write(recording, raw.chunk(slots), name="node.101.1")
    assert all(status == 0 and complaint == "" for status, _, complaint in each(verb, recording))
    assert "The disk was full, 7 calls lost." in (recording / "report.html").read_text()
    assert "has 1 loss; damaris info" in verb("report", recording, "--console")[1]


def test_a_program_without_input_and_output(run, verb, number):
    raw.write(run, raw.chunk(raw.process() + raw.call(number("MPI_Barrier"), MS, 2 * MS) + raw.end(3 * MS)))
    assert all(status == 0 and complaint == "" for status, _, complaint in each(verb, run))
    assert "is empty: the recording has process 0 only, without an I/O call." in verb("query", run, "Call")[1]
    assert verb("report", run, "--codes")[1] == ""


def test_a_store_of_another_version(recording, verb):
    verb("unify", recording)
    about = recording / "store/store.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"version": 99}))
    for said in only_sentences(each(verb, recording / "store"), 1):
        assert f"is of version 99, this damaris reads version {VERSION}; make it anew from its raw files with 'damaris unify" in said
    shutil.rmtree(recording / "raw")
    assert all("is of version 99" in said for said in only_sentences(each(verb, recording), 1))


def test_a_store_of_another_version_is_made_anew_from_raw_files(recording, verb):
    verb("unify", recording)
    (recording / "store/store.json").write_text('{"version": 99}')
    assert all(status == 0 for status, *_ in each(verb, recording))


@pytest.mark.parametrize("lost", ["calls", "objects.parquet", "losses.parquet"])
def test_a_store_that_is_not_whole(recording, verb, lost):
    verb("unify", recording)
    lost = recording / "store" / lost
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    for said in only_sentences(each(verb, recording), 1):
        assert f"{lost.name} is missing; make it anew with 'damaris unify {recording}'" in said


@pytest.mark.parametrize("damaged", ["calls/00000.parquet", "processes.parquet"])
@pytest.mark.parametrize("keep", [0, 100, -200])
def test_a_store_that_is_damaged(recording, verb, damaged, keep):
    verb("unify", recording)
    path = recording / "store" / damaged
    body = path.read_bytes()
    path.write_bytes(body[:keep] if keep >= 0 else body[:4] + bytes(len(body) + keep) + body[keep + 4 :])
    for _, _, complaint in each(verb, recording, of=(["query", "Call"], ["report", "--codes"])):
        assert "Traceback" not in complaint and ("damaris unify" in complaint or not complaint)

"""Questions of the I/O profiling paper: their grammar, and the answers against figure 9 and a slow evaluator."""

import os

import duckdb
import pyarrow as pa
import pytest
from evaluator import Trace

from damaris import Refused
from damaris.grammar import parse, question
from damaris.latency import Answers
from damaris.pictures import draw

TRACES = int(os.environ.get("DAMARIS_RANDOM_TRACES", "40"))
OBJECTS = pa.table({"id": [1, 2, 3], "name": ["/a", "/b", "/c"]})


def answers(rows):
    database = duckdb.connect()
    database.register("calls", pa.Table.from_pylist(rows))
    database.register("objects", OBJECTS)
    return Answers(database)


def ask(rows, text):
    answer = answers(rows).ask(parse(text))
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


def call(number, parent, layer, begin, end, process=0, root=0, branch=None, **more):
    """A call of the outermost call 0 of process 0, or of a server that works for it."""
    return {"id": number, "parent": parent, "root": root, "branch": root if branch is None else branch, "process": process, "thread": 0,
            "begin": begin, "end": end, "depth": 0, "layer": layer, "kind": "write", "function": layer, "object": 1, "bytes": 100,
            "io": 0 if process < 10 else None, "top": True, "below": 0} | more  # fmt: skip


# Figure 9: one collective call in two fragments, each of which two servers work for.
FIGURE_9 = [
    call(0, -1, "mpiio", 0, 1000, below=700),
    call(1, 0, "posix", 100, 400),  # fragment 00
    call(2, 0, "posix", 500, 900),  # fragment 01
    call(3, 1, "server", 110, 310, process=10, branch=3),  # 000
    call(4, 1, "server", 110, 360, process=11, branch=4),  # 001
    call(5, 2, "server", 510, 890, process=10, branch=5),  # 010
    call(6, 2, "server", 510, 700, process=11, branch=6),  # 011
]


def test_table_2_word_for_word():
    asked = parse("Latency Breakdown Inclusive [0–1] [1–10]")
    assert asked.words == ("latency", "breakdown", "inclusive")
    assert asked.ranges == {"process": ((0, 1),), "call": ((1, 10),)}
    asked = parse("Latency Operation List [0–4] [1–10] [–] [1–3]")
    assert asked.ranges == {"process": ((0, 4),), "call": ((1, 10),), "sub": (), "server": ((1, 3),)}
    assert parse("Thru. [16] [0-23]") == parse("throughput [16] [0-23] [-] [-]")
    assert parse("Energy [10] [5.5]").ranges["idle"] == ((5.5, 5.5),)
    assert parse("Call").ranges == dict.fromkeys(("process", "call", "sub", "server"), ())
    assert parse("Call [0,2,5-7]").ranges["process"] == ((0, 0), (2, 2), (5, 7))
    assert question("latency breakdown exclusive", process=(0, 3)) == parse("Latency Breakdown Exclusive [0-3]")


@pytest.mark.parametrize(
    ("text", "word", "says"),
    [
        ("Latency Breakdwn Inclusive", "Breakdwn", "did you mean 'Breakdown'?"),
        ("Latency Breakdown Inclusive [3-1]", "[3-1]", "ends before it begins"),
        ("Latency Breakdown Exclusive 3", "3", "must be a range of process"),
        ("Call [x]", "[x]", "is no number"),
        ("Call [0", "[", "ends with ']'"),
        ("Call [0] [1] [2] [3] [4]", "[4]", "has ended"),
        ("Energy [3]", "", "needs the idle power"),
        ("Latency", "", "one of Breakdown, Operation, Segment"),
    ],
)
def test_an_error_is_marked_at_its_place(text, word, says):
    with pytest.raises(Refused) as refused:
        parse(text)
    sentence, shown, marks = str(refused.value).splitlines()
    assert says in sentence
    assert shown.strip() == text
    at = marks.index("^")
    assert shown[at : at + len(word)] == word
    assert marks.count("^") == max(len(word), 1)


def test_figure_9_by_hand():
    inclusive = {row["layer"]: round(row["seconds"] * 1e9) for row in ask(FIGURE_9, "Latency Breakdown Inclusive [0] [0]")}
    assert inclusive == {"mpiio": 1000, "posix": 300 + 400, "server": max(200, 250) + max(380, 190)}  # equations 3 and 4
    exclusive = {row["layer"]: round(row["seconds"] * 1e9) for row in ask(FIGURE_9, "Latency Breakdown Exclusive [0] [0]")}
    assert exclusive == {"mpiio": 300, "posix": 700 - 250 - 380, "server": 630}


def test_operations_of_storage_by_hand():
    rows = [call(0, -1, "mpiio", 0, 1000, below=500, object=9), call(1, 0, "posix", 0, 200), call(2, 0, "posix", 300, 600, object=2),
            call(3, -1, "posix", 2000, 2100, root=3, io=1, bytes=50)]  # fmt: skip
    listed = ask(rows, "Latency Operation List [0] [0]")
    assert [(row["sub"], row["server"], row["target"], round(row["seconds"] * 1e9)) for row in listed] == [(0, 1, "/a", 200), (1, 2, "/b", 300)]
    most = [row for row in ask(rows, "Latency Operation Max [-] [0]") if row["view"] == "process"]
    assert [(row["call"], row["server"]) for row in most] == [(0, 2)]
    assert [row["server"] for row in ask(rows, "Latency Operation List [0] [0] [-] [2]")] == [2]
    through = {row["call"]: row["bytes_per_second"] for row in ask(rows, "Throughput [0]") if row["view"] == "process"}
    assert through[0] == pytest.approx(100 / 200e-9 + 100 / 300e-9)  # it adds up, equation 2
    energy = {row["call"]: row["joules"] for row in ask(rows, "Energy [10] [5] [0] [0] [-] [1]")}
    assert energy[0] == pytest.approx(10 * 200e-9 + 5 * 800e-9)
    assert {(row["server"], row["operations"]) for row in ask(rows, "Call")} == {(1, 2), (2, 1)}
    assert {(row["call"], row["targets"]) for row in ask(rows, "Targets [0]")} == {(0, 2), (1, 1)}


def test_overlapping_operations_at_a_target_count_once():
    rows = [call(0, -1, "mpiio", 0, 1000), call(1, 0, "posix", 0, 400, thread=1), call(2, 0, "posix", 100, 500, thread=2)]
    assert ask(rows, "Energy [1] [0] [0] [0]")[0]["busy"] == pytest.approx(500e-9)


def test_random_traces_against_the_slow_evaluator():
    for seed in range(TRACES):
        trace = Trace(seed)
        asked = answers(trace.rows)
        for kind in ("Inclusive", "Exclusive"):
            found = asked.ask(parse(f"Latency Breakdown {kind} [0-9] [0-99]")).fetchall()
            assert {(process, io, layer): round(seconds * 1e9) for process, io, layer, seconds in found} == trace.breakdown(kind == "Inclusive"), seed


@pytest.mark.parametrize("suffix", [".html", ".png", ".svg", ".pdf"])
@pytest.mark.parametrize("text", ["Latency Breakdown Exclusive [0]", "Latency Operation List", "Latency Operation Max", "Throughput", "Energy [10] [5]", "Call"])
def test_each_answer_has_a_picture(text, suffix, tmp_path):
    picture = tmp_path / f"picture{suffix}"
    draw(parse(text), ask(FIGURE_9, text), picture)
    begin = {".html": b"<!doctype html", ".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert picture.read_bytes().startswith(begin)


def test_a_picture_of_nothing_is_refused(tmp_path):
    with pytest.raises(Refused, match="no picture"):
        draw(parse("Call [7]"), ask(FIGURE_9, "Call [7]"), tmp_path / "picture.png")

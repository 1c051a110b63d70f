"""Questions of the I/O profiling paper: their grammar, and the answers against figure 9 and a slow evaluator."""

import os

import duckdb
import pyarrow as pa
import pytest
from evaluator import Trace

from damaris import Refused
from damaris.grammar import parse, question
from damaris.latency import Answers
from damaris.pictures import draw, panels_of

TRACES = int(os.environ.get("DAMARIS_RANDOM_TRACES", "15"))
OBJECTS = pa.table({"id": [1, 2, 3], "name": ["/a", "/b", "/c"]})


def answers(rows, links=()):
    database = duckdb.connect()
    database.register("calls", pa.Table.from_pylist(rows))
    database.register("objects", OBJECTS)
    database.execute("create table links (call bigint, writer bigint, bytes bigint, inside bigint)")
    for link in links:
        database.execute("insert into links values (?, ?, ?, ?)", link)
    return Answers(database)


def ask_of(asked, text):
    answer = asked.ask(parse(text))
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


def ask(rows, text):
    return ask_of(answers(rows), text)


def call(number, parent, layer, begin, end, process=0, root=0, branch=None, **more):
    """A call of the outermost call 0 of process 0, or of a server that works for it."""
    return {"id": number, "parent": parent, "root": root, "branch": root if branch is None else branch, "process": process, "thread": 0,
            "begin": begin, "end": end, "depth": 0, "layer": layer, "kind": "write", "function": layer, "object": 1, "bytes": 100,
            "io": 0 if process < 10 else None, "top": True, "below": 0} | more  # fmt: skip


# Figure 9: one collective call in two fragments, each of which two servers work for.
FIGURE_9 = [
    call(0, -1, "mpiio", 0, 1000, below=700),
    call(1, 0, "damaris", 100, 400),  # fragment 00
    call(2, 0, "damaris", 500, 900),  # fragment 01
    call(3, 1, "posix", 110, 310, process=10, branch=3),  # 000
    call(4, 1, "posix", 110, 360, process=11, branch=4),  # 001
    call(5, 2, "posix", 510, 890, process=10, branch=5),  # 010
    call(6, 2, "posix", 510, 700, process=11, branch=6),  # 011
]


def test_a_branch_of_empty_blocks_counts_for_each_of_their_writers_alike():
    written = [call(0, -1, "damaris", 0, 10), call(1, -1, "damaris", 20, 30, root=1, io=1)]
    asked = answers([*written, call(2, 1, "posix", 40, 140, process=10, root=1, branch=2)], [(2, 0, 0, None), (2, 1, 0, None)])
    for number in (0, 1):
        found = {row["layer"]: row["seconds"] for row in ask_of(asked, f"Latency Breakdown Exclusive [-] [{number}]")}
        assert found["posix"] == pytest.approx(50e-9)


def test_more_bars_than_a_picture_has_are_refused_before_they_are_made():
    rows = [{"process": 0, "call": number, "sub": 0, "server": 1, "layer": "posix", "seconds": 1.0, "target": "/a"} for number in range(401)]
    with pytest.raises(Refused, match="the answer has 401 bars, a picture shows 400"):
        panels_of(parse("Latency Operation List"), rows)


def test_table_2_word_for_word():
    asked = parse("Latency Breakdown Inclusive [0–1] [1–10]")
    assert asked.words == ("latency", "breakdown", "inclusive")
    assert asked.ranges == {"process": ((0, 1),), "call": ((1, 10),)}
    asked = parse("Latency Operation List [0–4] [1–10] [–] [1–3]")
    assert asked.ranges == {"process": ((0, 4),), "call": ((1, 10),), "sub": (), "server": ((1, 3),)}
    assert parse("Thru. [16] [0-23]") == parse("throughput [16] [0-23] [-] [-]")
    assert parse("Energy [10] [5.5]").ranges["idle"] == ((5.5, 5.5),)
    assert parse("Call").ranges == dict.fromkeys(("process", "call", "sub", "server"), ())
    assert parse("Latency Operation Avg - – − [1–3]") == parse("latency operation average [-] [–] [] [1-3]")
    assert [parse(f"Latency Operation {word}").words[2] for word in ("Max", "Maximum", "Min", "Minimum")] == ["max", "max", "min", "min"]
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
    assert inclusive == {"mpiio": 1000, "damaris": 300 + 400, "posix": max(200, 250) + max(380, 190)}  # equations 3 and 4
    exclusive = {row["layer"]: round(row["seconds"] * 1e9) for row in ask(FIGURE_9, "Latency Breakdown Exclusive [0] [0]")}
    assert exclusive == {"mpiio": 300, "damaris": 700 - 250 - 380, "posix": 630}


def test_a_server_that_works_for_two_calls_after_they_have_returned():
    """Each has its share by bytes; what the callback around it takes for itself is the server's own. No call waits for it."""
    rows = [
        call(0, None, "damaris", 0, 10),
        call(1, None, "damaris", 0, 30, process=1, root=1),
        call(2, None, "server", 100, 500, process=2, root=2, below=360),  # on_step
        call(3, 1, "server", 110, 470, process=2, root=1, branch=3, top=False, below=300),  # write_dataset
        call(4, 3, "posix", 120, 420, process=2, root=1, branch=3),
    ]
    asked = answers(rows, [(3, 0, 25, 2), (3, 1, 75, 2)])
    inclusive = {(row["process"], row["layer"]): round(row["seconds"] * 1e9) for row in ask_of(asked, "Latency Breakdown Inclusive [0-9]")}
    assert inclusive == {(0, "damaris"): 10, (0, "server"): 90, (0, "posix"): 75, (1, "damaris"): 30, (1, "server"): 270, (1, "posix"): 225, (2, "server"): 40}
    exclusive = {(row["process"], row["layer"]): round(row["seconds"] * 1e9) for row in ask_of(asked, "Latency Breakdown Exclusive [0-9]")}
    assert exclusive == {(0, "damaris"): 10, (0, "server"): 15, (0, "posix"): 75, (1, "damaris"): 30, (1, "server"): 45, (1, "posix"): 225, (2, "server"): 40}


def test_operations_of_figure_9():
    listed = [(row["sub"], row["server"], round(row["seconds"] * 1e9)) for row in ask(FIGURE_9, "Latency Operation List [0] [0]")]
    assert listed == [(0, 10, 200), (0, 11, 250), (1, 10, 380), (1, 11, 190)]
    most = ask(FIGURE_9, "Latency Operation Max [0] [0] [0-1]")
    longest = [(row["sub"], row["server"], round(row["seconds"] * 1e9)) for row in most if row["view"] == "process"]
    assert longest == [(0, 11, 250), (1, 10, 380)]  # their sum is the inclusive latency of this layer
    assert [(row["server"], row["process"], round(row["seconds"] * 1e9)) for row in most if row["view"] == "server"] == [(10, 0, 380), (11, 0, 250)]
    assert [(row["server"], row["operations"]) for row in ask(FIGURE_9, "Call")] == [(10, 2), (11, 2)]
    assert ask(FIGURE_9, "Targets")[0]["targets"] == 2
    through = [row for row in ask(FIGURE_9, "Throughput [0] [0]") if row["view"] == "process"]
    assert {row["server"]: row["bytes_per_second"] for row in through} == pytest.approx({10: 200 / 580e-9, 11: 200 / 440e-9})
    assert through[0]["together"] == pytest.approx(200 / 580e-9 + 200 / 440e-9)  # equation 2


def test_rows_are_told_apart_by_what_is_asked():
    rows = [call(i, -1, "posix", 1000 * i, 1000 * i + 10 * (1 + i), root=i, io=i, object=1 + i % 2) for i in range(4)]
    assert [(row["call"], row["server"]) for row in ask(rows, "Latency Operation Max") if row["view"] == "process"] == [(3, 2)]
    assert [row["call"] for row in ask(rows, "Latency Operation Max [0]") if row["view"] == "process"] == [0, 1, 2, 3]
    assert [(row["process"], row["operations"]) for row in ask(rows, "Latency Operation Avg")] == [(0, 4)]
    assert [row["accesses"] for row in ask(rows, "Accesses")] == [4] and [row["accesses"] for row in ask(rows, "Accesses [-] [1-2]")] == [1, 1]
    assert [(row["server"], round(row["joules"] * 1e9)) for row in ask(rows, "Energy [1] [0]")] == [(1, 10 + 30), (2, 20 + 40)]
    assert [(row["server"], round(row["idle"] * 1e9)) for row in ask(rows, "Energy [1] [0]")] == [(1, 20 + 40), (2, 10 + 30)]


def test_operations_of_storage_by_hand():
    rows = [call(0, -1, "mpiio", 0, 1000, below=500, object=9), call(1, 0, "posix", 0, 200), call(2, 0, "posix", 300, 600, object=2),
            call(3, -1, "posix", 2000, 2100, root=3, io=1, bytes=50)]  # fmt: skip
    listed = ask(rows, "Latency Operation List [0] [0]")
    assert [(row["sub"], row["server"], row["target"], round(row["seconds"] * 1e9)) for row in listed] == [(0, 1, "/a", 200), (1, 2, "/b", 300)]
    most = [row for row in ask(rows, "Latency Operation Max [-] [0]") if row["view"] == "process"]
    assert [(row["call"], row["server"]) for row in most] == [(0, 2)]
    assert [row["server"] for row in ask(rows, "Latency Operation List [0] [0] [-] [2]")] == [2]
    asked = [row for row in ask(rows, "Throughput [0]") if row["view"] == "process" and row["call"] == 0]
    assert {row["target"]: row["bytes_per_second"] for row in asked} == pytest.approx({"/a": 100 / 200e-9, "/b": 100 / 300e-9})
    assert asked[0]["together"] == pytest.approx(100 / 200e-9 + 100 / 300e-9)  # equation 2
    energy = {row["call"]: row["joules"] for row in ask(rows, "Energy [10] [5] [0] [0] [-] [1]")}
    assert energy[0] == pytest.approx(10 * 200e-9 + 5 * 800e-9)
    assert {(row["server"], row["operations"]) for row in ask(rows, "Call")} == {(1, 2), (2, 1)}
    assert {(row["call"], row["targets"]) for row in ask(rows, "Targets [0]")} == {(0, 2), (1, 1)}


def test_overlapping_operations_at_a_target_count_once():
    rows = [call(0, -1, "mpiio", 0, 1000), *(call(1 + i, 0, "posix", 100 * i, 100 * i + 400, process=10, thread=i, branch=1 + i) for i in (0, 1))]
    assert ask(rows, "Energy [1] [0] [0] [0]")[0]["busy"] == pytest.approx(500e-9)


def test_random_traces_against_the_slow_evaluator():
    for seed in range(TRACES):
        trace = Trace(seed)
        asked = answers(trace.rows)
        for kind in ("Inclusive", "Exclusive"):
            found = asked.ask(parse(f"Latency Breakdown {kind} [0-9] [0-99]")).fetchall()
            assert {(process, io, layer): round(seconds * 1e9) for process, io, layer, seconds in found} == trace.breakdown(kind == "Inclusive"), seed
        listed = ask_of(asked, "Latency Operation List")
        assert sorted((row["process"], row["call"], row["sub"], row["server"], round(row["seconds"] * 1e9)) for row in listed) == sorted(
            (*of, row["end"] - row["begin"]) for *of, row in trace.operations()), seed  # fmt: skip
        busy = {(row["process"], row["call"], row["server"]): round(row["busy"] * 1e9) for row in ask_of(asked, "Energy [1] [1] [0-9]")}
        assert busy == {key: ns for key, (ns, _) in trace.busy("process", "call", "server").items()}, seed
        together = {(row["process"], row["call"]): row["together"] for row in ask_of(asked, "Throughput [0-9]") if row["view"] == "process"}
        rates = trace.busy("process", "call", "server")
        assert together == pytest.approx({key: sum(count / ns * 1e9 for (*of, _), (ns, count) in rates.items() if tuple(of) == key) for key in together}), seed


WITH_PICTURES = ("Latency Breakdown Exclusive [0]", "Latency Operation List", "Latency Operation Max [0] [0] [0-1]", "Throughput", "Energy [10] [5]", "Call")


@pytest.mark.parametrize(("text", "suffix"), [*((text, ".html") for text in WITH_PICTURES), *((WITH_PICTURES[2], suffix) for suffix in (".png", ".svg", ".pdf"))])
def test_each_answer_has_a_picture(text, suffix, tmp_path):
    picture = tmp_path / f"picture{suffix}"
    draw(parse(text), ask(FIGURE_9, text), picture)
    begin = {".html": b"<!doctype html", ".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert picture.read_bytes().startswith(begin)


@pytest.mark.parametrize("text", ["Latency Breakdown Inclusive [0] [0]", "Latency Operation Min", "Latency Operation Avg [0]", "Communication", "Targets", "Accesses", "Latency Segment [0-1]"])
def test_so_has_each_other_question(text, tmp_path):
    rows = [*FIGURE_9, call(7, 2, "mpi", 890, 895)]
    draw(parse(text), ask(rows, text), tmp_path / "picture.html")
    assert (tmp_path / "picture.html").stat().st_size > 1000


def test_the_layers_of_an_inclusive_picture_lie_within_each_other():
    [panel] = panels_of(parse("Latency Breakdown Inclusive [0]"), ask(FIGURE_9, "Latency Breakdown Inclusive [0]"))
    assert panel.inside and {layer: round(values[0] * 1e9) for layer, values in panel.series.items()} == {"mpiio": 1000, "damaris": 700, "posix": 630}
    [panel] = panels_of(parse("Latency Breakdown Exclusive [0]"), ask(FIGURE_9, "Latency Breakdown Exclusive [0]"))
    assert not panel.inside and sum(values[0] for values in panel.series.values()) == pytest.approx(1000e-9)


def test_a_picture_names_layers_servers_and_what_many_have_together():
    [panel] = panels_of(parse("Latency Operation List"), ask(FIGURE_9, "Latency Operation List"))
    assert panel.log and panel.labels == ["0-0-0-10", "0-0-0-11", "0-0-1-10", "0-0-1-11"] and list(panel.series) == ["posix"]
    many = [call(i, -1, "posix", 1000 * i, 1000 * i + 10 * (1 + i), root=i, io=i, object=i) for i in range(30)]
    of_process, of_server = panels_of(parse("Call"), ask(many, "Call"))
    assert len(of_process.series) == 11 and of_process.series["20 others"] == [20] and len(of_server.labels) == 30


def test_a_picture_of_nothing_is_refused(tmp_path):
    with pytest.raises(Refused, match="no picture"):
        draw(parse("Call [7]"), ask(FIGURE_9, "Call [7]"), tmp_path / "picture.png")

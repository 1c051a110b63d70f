"""damaris report: the page, the terminal, and what a script reads; damaris query with a question and -o."""

import json
import re

import duckdb
import pytest
import raw_files as raw

MS = 10**6


@pytest.fixture
def recording(run, number):
    """Two ranks that write 200 small pieces each, side by side, into a file whose name is no HTML; then rank 0 writes 16 MiB at once."""
    for rank in (0, 1):
        slots = raw.process(pid=100 + rank, rank=rank, ranks=2) + raw.text(raw.PATH, "/out/<b>&shared", object=1)
        for i in range(200):
            begin = (2 * i + 1) * MS
            slots += raw.call(number("pwrite"), begin, begin + MS, object=1, bytes=100, place=(2 * i + rank) * 100)
        slots += raw.call(number("pwrite"), 500 * MS, 501 * MS, object=1, bytes=16 << 20, place=1 << 30)
        raw.write(run, raw.chunk(slots + raw.end(502 * MS, wchar=20_000 + (16 << 20))), name=f"node.{100 + rank}.1")
    return run


def test_the_page_is_whole_and_asks_for_nothing_from_outside(recording, verb):
    status, output, complaint = verb("report", recording)
    assert (status, complaint) == (0, "") and str(recording / "report.html") in output
    page = (recording / "report.html").read_text()
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'(src|href)="?http', outside) and not re.search(r"<script[^>]+src=|<link", page)
    for heading in ("What costs time", "Time by layer", "Bytes written over time", "Bandwidth over time", "Access sizes", "Files", "What was seen"):
        assert f"<h2>{heading}</h2>" in page
    assert "2 processes spent" in outside and "100.0 % of the bytes" in outside
    assert "&lt;b&gt;&amp;shared" in outside and "<b>&shared" not in outside


def test_findings_on_the_terminal_and_for_scripts(recording, verb):
    status, output, _ = verb("report", recording, "--console")
    assert status == 0 and all(len(line) <= 80 for line in output.splitlines())
    assert "I3 high: small writes" in output and "I6 high: small pieces of many processes" in output
    lines = [line.split() for line in verb("report", recording, "--codes")[1].splitlines()]
    assert {line[0]: line[1] for line in lines} == {"I3": "high", "I6": "high"}
    told = json.loads(verb("report", recording, "--json")[1])
    assert [one["code"] for one in told["findings"]] == [line[0] for line in lines] and told["findings"][0]["ranks"] == [0, 1]
    rows = json.loads(verb("query", recording, "--sql", told["findings"][0]["query"], "--json")[1])
    assert rows


@pytest.mark.parametrize(("limit", "status"), [("none", 1), ("low", 1), ("medium", 1), (None, 0)])
def test_a_script_can_fail_on_findings(recording, verb, limit, status):
    assert verb("report", recording, "--codes", *(["--fail-above", limit] if limit else []))[0] == status


def test_a_recording_without_a_call_has_a_page(run, verb):
    (run / "raw").mkdir(parents=True)
    (run / "recording.json").write_text("{}")
    assert verb("report", run)[0] == 0
    assert "What was seen" in (run / "report.html").read_text()


def test_the_answer_to_a_question_as_table_and_files(recording, verb, tmp_path):
    heads, _, *rows = verb("query", recording, "Latency Breakdown Inclusive [0-1]")[1].splitlines()
    assert heads.split() == ["process", "layer", "seconds"] and [row.split() for row in rows] == [["0", "posix", "0.201"], ["1", "posix", "0.201"]]
    assert verb("query", recording, "Call", "--csv")[1] == "process,server,operations,bytes,target\n" + "".join(
        f"{rank},1,201,{20_000 + (16 << 20)},/out/<b>&shared\n" for rank in (0, 1))  # fmt: skip
    for suffix in ("csv", "json", "parquet", "png", "html"):
        assert verb("query", recording, "Call", "-o", tmp_path / f"answer.{suffix}")[0] == 0
        assert (tmp_path / f"answer.{suffix}").stat().st_size > 0
    assert duckdb.sql(f"select operations from '{tmp_path}/answer.parquet'").fetchall() == [(201,), (201,)]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["query", "run", "Latency Breakdwn"], 1, "did you mean 'Breakdown'?"),
        (["query", "run", "Call [9]", "-o", "a.png"], 1, "The answer is empty: the recording has processes 0 to 1"),
        (["query", "run", "--sql", "select function::int from calls"], 1, "not understood: Conversion Error"),
        (["query", "run", "Call", "-o", "a.xls"], 2, "ends with none of .csv"),
        (["query", "run", "Call", "-o", "nothing/a.png"], 2, "there is no folder 'nothing'"),
        (["query", "run", "--files", "-o", "a.png"], 2, "there are pictures of QUESTIONs only"),
        (["report", "run", "-o", "nothing/a.html"], 2, "there is no folder 'nothing'"),
        (["report", "run", "--codes", "--json"], 2, "choose one"),
        (["report", "nothing"], 1, "there is no recording 'nothing'"),
    ],
)
def test_what_cannot_work_is_one_sentence(recording, verb, words, status, said):
    ended, _, complaint = verb(*words)
    assert ended == status and said in complaint and "Traceback" not in complaint


def test_an_empty_answer_says_what_there_is(recording, verb):
    there_is = "The answer is empty: the recording has processes 0 to 1, and in each at most 201 I/O calls, counted from 0.\n"
    assert verb("query", recording, "Call [9]")[:2] == verb("query", recording, "Latency Breakdown Inclusive [0] [300-400]")[:2] == (0, there_is)
    assert verb("query", recording, "--sql", "select * from losses")[1] == "The answer is empty: nothing in the recording is like that.\n"


def test_a_store_that_does_not_name_what_moves_bytes_answers_the_same(recording, verb):
    before = verb("query", recording, "Latency Operation List", "--csv")[1]
    about = json.loads((recording / "store/store.json").read_text())
    assert {"pwrite", "read", "fwrite"} <= set(about.pop("moving")) and before.count("\n") == 1 + 402
    (recording / "store/store.json").write_text(json.dumps(about))
    assert verb("query", recording, "Latency Operation List", "--csv")[1] == before


def test_more_rows_than_a_terminal_shows_are_counted(recording, verb):
    lines = verb("query", recording, "Latency Operation List")[1].splitlines()
    assert len(lines) == 2 + 200 + 1 and lines[-1] == "and 202 more rows; --csv or -o FILE gives all"
    assert lines[2].split()[:4] == ["0", "0", "0", "1"] and lines[-2].split()[:2] == ["0", "199"]


def test_the_same_words_from_python(recording):
    import damaris

    run = damaris.open(recording)
    assert run.latency("exclusive", process=(0, 1))["layer"].tolist() == ["posix", "posix"]
    assert run.operations("max", process=0, call=(0, 3))["seconds"].max() == pytest.approx(1e-3)
    assert run.throughput(process=0, call=0)["bytes_per_second"].iloc[0] == pytest.approx(100_000)
    assert run.energy(10, 5, process=0, call=0)["joules"].tolist() == pytest.approx([0.01])

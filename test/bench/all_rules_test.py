"""What bench all makes of results that are made up: verdicts, remarks, documents, what is run again. No benchmark, no machine."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from made_results import ROOT, report, row, write  # first: it says where the others are

from budgets import BUDGETS
from campaign import Campaign
from choices import go_on, parse_arguments
from document import FROM, NAMES, TO, NoMarks, check, replaced, texts_of
from parts import NAMES as PART_NAMES
from parts import PARTS, command_line
from quotients import row_line, short
from results import BadResult, read_results
from verdicts import ABSENT, counted, groups_of, read_remarks
from whole_page import STYLE, verdict_table

QUEUE, DURABLE = "event against boost message_queue, 1 producer", "durable iteration, of pwrite + fsync"
REMARKS = [(".*", "durable.*", "The disk is the limit."), (".*", "durable.*|event.*", "Another reason.")]


def lines_of(folder, remarks=REMARKS):
    return {line.name: line for _, lines in groups_of(read_results(folder), remarks) for line in lines}


@pytest.mark.parametrize("script", ["all/bench_all.py", "cm1/bench_cm1.py", "cm1/bench_compression.py", "guard/guard.py", "phases/bench_phases.py"])
def test_the_help_is_no_wider_than_80_columns_and_says_what_to_type(script):
    done = subprocess.run([sys.executable, "-B", ROOT / "bench" / script, "--help"], capture_output=True, text=True, check=True,
                          env=dict(os.environ, COLUMNS="200"))
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert done.stdout.startswith("usage: ./dev bench")


@pytest.mark.parametrize("value, text", [(0.856, "0.856"), (0.0368, "0.037"), (-0.1234, "-0.12"), (0, "0"), (1234.5, "1234"), (-999.9, "-1000"), (-0.000123, "-0.00")])
def test_a_row_in_a_terminal_is_no_wider_than_80_columns(value, text):
    assert short(value) == text
    assert len(row_line(dict(row("a", value), interval=[value, value]), "x" * 45)) <= 80


@pytest.mark.parametrize("ratio, better, state", [
    (8.2, "higher", "aim reached"), (8, "higher", "aim reached, not surely"), (7.9, "higher", "good"), (4, "higher", "good, not surely"),
    (3.9, "higher", "missed"), (1.1, "lower", "aim reached"), (1.3, "lower", "aim reached, not surely"), (1.8, "lower", "good"),
    (2, "lower", "good, not surely"), (2.1, "lower", "missed")])
def test_a_row_says_what_it_reaches_and_why_not_more(tmp_path, ratio, better, state):
    write(tmp_path, "queue", report(row(QUEUE, ratio, better, *((4, 8) if better == "higher" else (2, 1.3)))))
    line = lines_of(tmp_path)[QUEUE]
    assert (line.state, line.why) == (state, "" if state.startswith("aim reached") else "Another reason.")
    assert (line.figure, line.interval) == (f"{ratio:.3g}", f"{ratio - 0.1:.3g} to {ratio + 0.1:.3g}")


def test_what_the_worse_end_of_an_interval_does_not_reach_is_counted_apart_and_coloured_in_the_page(tmp_path):
    write(tmp_path, "queue", report(row("event against boost message_queue, a", 8), row("event against boost message_queue, b", 9)))
    groups = [(title, lines) for title, lines in groups_of(read_results(tmp_path), REMARKS) if lines[0].part == "queue"]
    assert counted(groups) == "1 aim reached; 1 aim reached, not surely"
    assert '<td class="aim-reached-not-surely">aim reached, not surely</td>' in verdict_table(groups)
    assert ".aim-reached-not-surely {" in STYLE


def test_the_figure_by_processor_time_stands_beside_it_but_for_phases(tmp_path):
    more = dict(row(QUEUE, 5), cpu_ratio=0.1234)
    write(tmp_path, "queue", report(more))
    write(tmp_path, "phases", report(dict(more, name="write phase")))
    results = read_results(tmp_path)
    text = texts_of(results, groups_of(results, REMARKS), False)["figures"]
    assert f"| `queue`: {QUEUE} | 5 | 4.9 to 5.1 | 0.123 | 4 | 8 | good [1] |" in text
    assert "| `phases`: write phase | 5 | 4.9 to 5.1 |  | 4 | 8 | good |" in text


def test_the_first_remark_that_fits_counts(tmp_path):
    write(tmp_path, "persist", report(row(DURABLE, 0.5, "higher", 0.9, 1)))
    assert lines_of(tmp_path)[DURABLE].why == "The disk is the limit."


def test_every_budget_has_a_line_even_if_nothing_was_measured(tmp_path):
    groups = groups_of(read_results(tmp_path), [])
    assert [title for title, _ in groups] == [title for title, _ in BUDGETS]
    assert [len(lines) for _, lines in groups] == [len(wanted) for _, wanted in BUDGETS]
    assert {(line.state, line.why) for _, lines in groups for line in lines} == {(ABSENT, "it was not run")}
    assert counted(groups) == f"{sum(len(wanted) for _, wanted in BUDGETS)} not measured"


def test_a_budget_that_a_part_gave_no_row_for_and_a_row_without_a_budget_are_told(tmp_path):
    write(tmp_path, "persist", report(row(DURABLE, 1.2, "higher", 0.9, 1), row("something new", 1)))
    groups = groups_of(read_results(tmp_path), [])
    lines = {line.name: line for _, found in groups for line in found}
    assert lines["HDF5 file, of pwrite"].state == ABSENT and "no row" in lines["HDF5 file, of pwrite"].why
    assert [line.name for line in dict(groups)["Beside the budgets: persist"]] == ["something new"]


def test_a_part_that_failed_is_told_with_its_reason_in_table_page_and_document(tmp_path):
    (tmp_path / "campaign.json").write_text(json.dumps({"parts": {"queue": {"failed": "it ended with 1: no <memory> | left"}}}))
    results = read_results(tmp_path)
    groups = groups_of(results, [])
    assert "it ended with 1: no &lt;memory&gt; | left" in verdict_table(groups)
    assert "not measured: it ended with 1: no <memory> \\| left |" in texts_of(results, groups, False)["figures"]


def test_a_sentence_that_rows_share_stands_once_in_a_document_and_once_below_neighbours_in_the_page(tmp_path):
    write(tmp_path, "queue", report(row(QUEUE, 5), row(QUEUE.replace("1 producer", "2 producers"), 5)))
    results = read_results(tmp_path)
    groups = groups_of(results, REMARKS)
    text = texts_of(results, groups, False)["figures"]
    assert text.count("good [1]") == 2 and text.count("Another reason.") == 1 and "1. Another reason." in text
    assert verdict_table(groups).count("Another reason.") == 1


@pytest.mark.parametrize("what, sentence", [
    ("{", "is no result of a benchmark: Expecting"), ("[]", "is no JSON object"), ("{}", "has no 'machine'"),
    (dict(machine={}, rows=[dict(name="a")], details=[]), "a row has no 'ratio'"),
    (dict(machine={}, rows=[dict(row("a", 1), interval=[1])], details=[]), "interval of 'a' is not two numbers")])
def test_a_result_that_cannot_be_used_is_named_with_the_remedy(tmp_path, what, sentence):
    write(tmp_path, "slots", what)
    with pytest.raises(BadResult) as failure:
        read_results(tmp_path)
    assert str(tmp_path / "slots.json") in str(failure.value) and sentence in str(failure.value)
    assert f"remove it, and ./dev bench all --results {tmp_path} measures it again" in str(failure.value)


def document(*names):
    return "Before.\n" + "".join(f"{FROM.format(name)}\nold {name}\n{TO}\nAfter {name}.\n" for name in names)


def test_a_document_keeps_everything_outside_its_marks(tmp_path):
    new = replaced(tmp_path, document(*NAMES), dict(zip(NAMES, ("new one", "new other"))))
    wanted = document(*NAMES).replace("old figures", "new one").replace("old when it pays", "new other")
    assert new.split() == wanted.split()
    assert replaced(tmp_path, new, dict(zip(NAMES, ("new one", "new other")))) == new


@pytest.mark.parametrize("text, sentence", [("nothing", "has no place for figures"),
                                            (FROM.format("figures") + "\n", "there is no <!-- to here")])
def test_a_document_without_marks_is_refused_with_what_to_put_in(text, sentence):
    with pytest.raises(NoMarks, match=sentence) as failure:
        check("page.md", text, NAMES)
    assert FROM.format("figures") in str(failure.value)


def options(folder, *words):
    return parse_arguments("", ["--results", str(folder), *words])


def test_what_is_there_is_not_measured_again_unless_it_is_named(tmp_path):
    for name in PART_NAMES[1:]:
        write(tmp_path, name, report())
    assert [part.name for part in Campaign(options(tmp_path)).todo()] == PART_NAMES[:1]
    assert [part.name for part in Campaign(options(tmp_path, "--only", "queue,slots")).todo()] == ["queue", "slots"]


def test_quick_and_full_results_do_not_come_into_one_folder(tmp_path):
    (tmp_path / "campaign.json").write_text('{"quick": true, "parts": {}}')
    assert "add --quick" in Campaign(options(tmp_path)).mismatch()
    assert Campaign(options(tmp_path, "--quick")).mismatch() == ""


def test_options_go_on_to_the_parts_that_take_them(tmp_path):
    for part in PARTS:
        words = command_line(part, tmp_path / "x.json", True, folder=tmp_path, fields="f.h5")
        assert ("--folder" in words) == (part.name != "queue") and ("--fields" in words) == (part.name == "reduce")
        assert words[-3:] == ["--json", str(tmp_path / "x.json"), "--quick"]


@pytest.mark.parametrize("words, sentence", [
    (["--only", "wriet"], "'wriet' is none of: write, queue"), (["--folder", "/nonexistent"], "no folder"),
    (["--quick", "--document", "README.md"], "quick figures mean little"),
    (["--page", "/nonexistent/x.html"], "no folder"), (["--fields", "/nonexistent"], "no file")])
def test_wrong_usage_is_told_before_anything_runs(words, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_arguments("", words)
    assert ended.value.code == 2 and sentence in capsys.readouterr().err


def test_what_goes_on_after_an_interrupt_has_all_options_that_were_given(tmp_path):
    (tmp_path / "a b.h5").write_text("")
    given = ["--fields", tmp_path / "a b.h5", "--folder", tmp_path, "--page", tmp_path / "x.html", "--document", "one.md", "--document", "two.md"]
    words = shlex.split(go_on(options(tmp_path / "results", *map(str, given))))
    assert words == ["./dev", "bench", "all", "--results", *map(str, [tmp_path / "results", *given])]
    assert go_on(options("results", "--quick")) == "./dev bench all --results results --quick"


def test_every_aim_that_the_documents_do_not_reach_has_a_sentence():
    text = (ROOT / "docs" / "performance.md").read_text()
    section = text.partition(FROM.format("figures"))[2].partition(TO)[0]
    rows = [line for line in section.splitlines() if re.match(r"\| `", line)]
    assert rows
    for line in rows:
        assert re.search(r"\| (aim reached(, not surely)?|(good(, not surely)?|missed) \[\d+\]|(not measured|left out): .+) \|$", line), line


def test_no_document_has_figures_of_a_quick_campaign():
    texts = {path.name: path.read_text() for path in (ROOT / "docs").glob("**/*.md")}
    sections = {(path, name): text.partition(FROM.format(name))[2].partition(TO)[0] for path, text in texts.items() for name in NAMES}
    assert len([section for section in sections.values() if section]) >= 2
    assert not [place for place, section in sections.items() if "A quick campaign" in section]


def test_the_help_needs_only_python():
    words = [sys.executable, "-S", "-B", ROOT / "bench" / "all" / "bench_all.py", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and all(name in done.stdout for name in PART_NAMES), done.stderr
    assert len(read_remarks()) > 10

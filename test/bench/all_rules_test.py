"""What bench all makes of results that are made up: verdicts, remarks, documents, what is run again. No benchmark, no machine."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench" / folder) for folder in ("all", "cm1", "page", "phases")]
sys.path.append(str(ROOT / "examples" / "cm1"))

from budgets import BUDGETS  # noqa: E402
from campaign import Campaign  # noqa: E402
from caveats import caveats_of  # noqa: E402
from choices import go_on, parse_arguments  # noqa: E402
from document import FROM, NAMES, TO, NoMarks, check, replaced, texts_of  # noqa: E402
from facts import machine_text, when_text  # noqa: E402
from parts import NAMES as PART_NAMES  # noqa: E402
from parts import PARTS, command_line  # noqa: E402
from results import BadResult, read_results  # noqa: E402
from verdicts import ABSENT, counted, groups_of, read_remarks  # noqa: E402
from when_it_pays import pays_text  # noqa: E402
from whole_page import STYLE, verdict_table  # noqa: E402

QUEUE, DURABLE = "event against boost message_queue, 1 producer", "durable iteration, of pwrite + fsync"
MACHINE = dict(processor="A processor", cores=2, memory_bytes=2**34, system="Linux 6", damaris="0.1.0")
REMARKS = [(".*", "durable.*", "The disk is the limit."), (".*", "durable.*|event.*", "Another reason.")]


def row(name, ratio, better="higher", good=4, aim=8):
    return dict(name=name, ratio=ratio, better=better, good=good, aim=aim, interval=[ratio - 0.1, ratio + 0.1])


def report(*rows):
    return dict(machine=MACHINE, rows=list(rows), details=[dict(a=1)])


def write(folder, name, what):
    (folder / f"{name}.json").write_text(what if isinstance(what, str) else json.dumps(what))


def lines_of(folder, remarks=REMARKS):
    return {line.name: line for _, lines in groups_of(read_results(folder), remarks) for line in lines}


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
    assert counted(groups) == "1 reach the aim, 1 reach it, but not with all of their interval"
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
    assert counted(groups) == f"{sum(len(wanted) for _, wanted in BUDGETS)} have no figure"


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


def test_days_commits_and_noise_are_told(tmp_path):
    line = dict(began="2026-01-31 12:00", seconds=60, commit="abc", others_cores=0.5, stolen_percent=3.0)
    write(tmp_path, "queue", report())
    write(tmp_path, "slots", report())
    parts = {"queue": line, "slots": dict(line, commit="def", others_cores=0.1, seconds=180)}
    (tmp_path / "campaign.json").write_text(json.dumps(dict(parts=parts)))
    results = read_results(tmp_path)
    for sentence in ("commits abc, def", "used 0.20 cores", "4:00 min in all", "A quick campaign"):
        assert sentence in when_text(results, True)
    assert "A quick campaign" not in when_text(results, False)
    assert any("during queue:" in caveat for caveat in caveats_of(results))


@pytest.mark.parametrize("runs, sentence", [(2, "phases, cm1: 2 runs, 50 %"), (3, "phases, cm1: 3 runs, 75 %"), (5, "phases, cm1: 5 runs, 94 %"),
                                            (1, "phases, cm1: 1 run, no interval"), (6, "")])
def test_intervals_of_few_runs_are_told(tmp_path, runs, sentence):
    write(tmp_path, "phases", dict(report(), details=[dict(runs=[dict()] * runs), dict(runs=[dict()] * 7)]))
    write(tmp_path, "cm1", dict(report(), details=[dict(runs=dict(fpp=[dict()] * 7, damaris=[dict()] * runs))]))
    write(tmp_path, "slots", dict(report(), details=[dict(mb_per_busy_s=[1.0] * 6)]))
    last = list(caveats_of(read_results(tmp_path)))[-1]
    assert sentence in last and ("few runs" in last) == bool(sentence) and "slots:" not in last and ", slots" not in last


@pytest.mark.parametrize("kernel, libc, told", [(32, 384, True), (384, 32, True), (32, 48, False), (32, 0, False), (-1, 32, False)])
def test_a_cache_that_the_c_library_takes_for_another_size_is_told(tmp_path, kernel, libc, told):
    machine = dict(MACHINE, last_level_cache_bytes=kernel << 20, cache_of_libc_bytes=libc << 20)
    write(tmp_path, "write", dict(report(), machine=machine))
    sentence = f"The C library takes the cache for {libc} MiB, and its memcpy goes past the caches only beyond 0.75 of that"
    assert any(sentence in caveat for caveat in caveats_of(read_results(tmp_path))) == told


@pytest.mark.parametrize("compiler, told", [("12.2.0", "; Damaris 0.1.0, compiled by gcc 12.2.0."),
                                            ("Clang 16.0.6", "; Damaris 0.1.0, compiled by Clang 16.0.6."), (None, "; Damaris 0.1.0.")])
def test_the_machine_is_told_with_its_kernel_s_version_and_the_compiler(tmp_path, compiler, told):
    machine = dict(MACHINE, system="Linux 6.18.44-some-build", **({"compiler": compiler} if compiler else {}))
    write(tmp_path, "write", dict(report(), machine=machine))
    text = machine_text(read_results(tmp_path))
    assert text.endswith(f", Linux 6.18.44{told}")


def phases(**wall_s):
    """Details of runs with a storage of 100MB/s, in seconds."""
    details = [dict(way=way.replace("_", "-"), storage="100MB/s", runs=[dict(wall_s=one) for one in times]) for way, times in wall_s.items()]
    return dict(report(), settings=dict(ranks=2, writers=1), details=details)


def test_whole_runs_and_rates_of_storages_are_told(tmp_path):
    write(tmp_path, "phases", phases(file_per_process=[11.2, 14, 10], collective=[11.3], adios2=[1], damaris=[6.4, 6.4]))
    told = " ".join(caveats_of(read_results(tmp_path)))
    assert "Whole runs of phases, storage 100MB/s: file per process 11.2 s, collective 11.3 s, damaris 6.4 s." in told
    assert "dedicated core, 1 of 2 ranks, is charged" in told and "at a storage of 100MB/s is proportional to one over that rate" in told
    assert "phases-shared" not in told


@pytest.mark.parametrize("rate, told", [(71e6, True), (0, False)])
def test_a_storage_that_cm1_chose_itself_is_told_as_chosen(tmp_path, rate, told):
    settings = dict(cores=2, part_of_a_core=1, outputs=6, repeats=2, storage_bytes_per_s=rate)
    write(tmp_path, "cm1", dict(report(), settings=settings, points=[]))
    results = read_results(tmp_path)
    sentence = "chosen so that with the smallest multiplier of the work the output takes twice the compute time"
    assert (sentence in " ".join(pays_text(results).split())) == told
    assert (sentence in " ".join(caveats_of(results))) == told


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

"""./dev mutate on a tree of one file: what a test kills, what hangs, what survives, what changes nothing, what does not compile."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from mutants import changes, code_lines, mutants_of, sample  # noqa: E402
from orders import Model, orders_of, read_reasons, sources  # noqa: E402

SOURCE = """// a comment with x < 1;
int larger(int a, int b) {
  if (a > b) return a;
  return b;
}
int untested(int a) { return a + 2; }
int steps(int n) {
  int count = 0;
  while (n != 0) {
    --n;
    ++count;
  }
  return count;
}
#if 0
int nobody(int a) { return a + 3; }
#endif
int remote(int a) { return a + 5; }
"""
TEST = """int larger(int, int);
int steps(int);
int main(void) { return larger(1, 2) == 2 && larger(2, 1) == 2 && larger(1, 1) == 1 && steps(3) == 3 ? 0 : 1; }
"""
FAR_TEST = """int remote(int);
int main(void) { return remote(1) == 6 ? 0 : 1; }
"""
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES C)
enable_testing()
add_executable(near test.c src/tiny.c)
add_test(NAME near COMMAND near)
add_test(NAME broken COMMAND false)
set_tests_properties(near broken PROPERTIES LABELS unit)
add_executable(far far.c src/tiny.c)
add_test(NAME far COMMAND far)
add_test(NAME slow COMMAND sleep 1000)
set_tests_properties(far PROPERTIES LABELS api)
set_tests_properties(slow PROPERTIES LABELS "api;slow")
"""
ROOMS = {"configure": ["-G", "Ninja", "-B", "build"], "build": "build", "patience_s": 6, "orders": [], "wider": ["unit", "api"],
         "without": "slow",
         "rooms": {"tiny": {"folders": ["src"], "tests": ["near"]}}}


def git(tree, *words):
    subprocess.run(["git", "-C", tree, "-c", "user.name=tests", "-c", "user.email=tests@localhost", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tiny tree")
    for name, text in {"src/tiny.c": SOURCE, "test.c": TEST, "far.c": FAR_TEST, "CMakeLists.txt": CMAKE, "test/mutate/rooms.json": json.dumps(ROOMS),
                       ".gitignore": "build/\n"}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "A tree")
    return tree


def mutate(tree, *words):
    done = subprocess.run([sys.executable, "-B", HERE / "mutate.py", "--tree", tree, *words], capture_output=True, text=True, timeout=400, check=False)
    print(done.stdout, done.stderr)
    return done


def outcomes(tree, seed):
    lines = (tree / f"build/mutate/{seed}.jsonl").read_text(encoding="utf-8").splitlines()
    return {(told["line"], told["kind"], told["after"].strip()): told["outcome"] for told in map(json.loads, lines[1:])}


def test_each_mutant_has_the_outcome_that_it_deserves_and_the_tree_stays_as_it_is(tree):
    done = mutate(tree, "--seed", "7", "--mutants", "100", "--jobs", "2")
    assert done.returncode == 0
    found = outcomes(tree, 7)
    by_line = {}
    for (line, _, _), outcome in found.items():
        by_line.setdefault(line, set()).add(outcome)
    assert by_line[6] == {"survived"}  # nobody calls it
    assert by_line[10] in ({"killed"}, {"hung"})
    assert by_line[16] == {"equivalent"}  # it is not compiled
    assert by_line[11] == {"killed"}
    assert 1 not in by_line
    assert "src/tiny.c:6: " in done.stdout.split("survivors:")[1]
    assert "left out, since it does not pass without a mutant: broken" in done.stdout
    assert (tree / "src/tiny.c").read_text(encoding="utf-8") == SOURCE
    assert (tree / "build/mutate/tree/src/tiny.c").read_text(encoding="utf-8") == SOURCE


def test_a_hang_is_a_kill(tree):
    """Line 10: without it the loop has no end."""
    seed = next(s for s in range(100) if any(m.line == 10 and m.kind == "removed" for m in sample(mutants_of(tree, "tiny", "src"), 1, s)))
    assert mutate(tree, "--seed", str(seed), "--mutants", "1", "--narrow").returncode == 0
    assert list(outcomes(tree, seed).values()) == ["hung"]


def test_a_second_run_with_resume_goes_on_where_the_first_was_ended(tree):
    assert mutate(tree, "--seed", "8", "--mutants", "3", "--minutes", "0.000001").returncode == 0
    assert outcomes(tree, 8) == {}
    assert mutate(tree, "--seed", "8", "--mutants", "3", "--resume", "--narrow").returncode == 0  # another sample: it begins anew
    first = outcomes(tree, 8)
    assert len(first) == 3
    done = mutate(tree, "--seed", "8", "--mutants", "3", "--resume", "--narrow")
    assert "3 mutants of" in done.stdout and ", 3 of them known" in done.stdout
    assert outcomes(tree, 8) == first


def test_what_has_survived_is_tried_again_with_wider_tests_where_its_line_is_now(tree, tmp_path):
    copy = tmp_path / "tree"
    subprocess.run(["git", "clone", "-q", tree, copy], check=True)
    line = 1 + SOURCE[:SOURCE.index("int remote")].count("\n")
    assert mutate(copy, "--seed", "9", "--mutants", "100", "--narrow").returncode == 0
    assert {outcome for (number, _, _), outcome in outcomes(copy, 9).items() if number == line} == {"survived"}
    (copy / "src/tiny.c").write_text("/* moved */\n" + SOURCE.replace("a + 2", "a + 4"), encoding="utf-8")
    git(copy, "commit", "-q", "-a", "-m", "Move the lines")
    done = mutate(copy, "--again", str(copy / "build/mutate/9.jsonl"))
    assert "gone: src/tiny.c:6: int untested(int a) { return a + 2; }" in done.stdout
    assert {(number, outcome) for (number, _, _), outcome in outcomes(copy, "9-again").items()} == {(line + 1, "killed")}
    assert mutate(copy, "--again", str(copy / "build/mutate/9-again.jsonl")).returncode == 1  # nothing is left


def test_a_folder_without_a_line_to_change_is_told(tree):
    done = mutate(tree, "--only", "src/none")
    assert done.returncode == 1
    assert "no line below ['src/none'] can be changed" in done.stderr


def test_what_is_no_code_is_left_alone():
    lines = [line for _, line in code_lines("/* a\n b = 1;\n*/\n#if 1\n// c\nd = 1;\n")]
    assert lines == ["d = 1;"]
    assert not list(changes('say("a == b, 7");')) or all(kind == "removed" for kind, _ in changes('say("a == b, 7");'))


@pytest.mark.parametrize("line, kind, after", [
    ("  if (a < b) go();", "comparison", "  if (a <= b) go();"),
    ("  if (a < f(b)) go();", "negation", "  if (!(a < f(b))) go();"),
    ("  if (a && b) go();", "logic", "  if (a || b) go();"),
    ("  x = a + 7;", "arithmetic", "  x = a - 7;"),
    ("  x = a + 7;", "constant", "  x = a + 8;"),
    ("  x = a + 7;", "removed", "  ;"),
    ("  thing->call(a, b);", "removed", "  ;"),
    ("  return true;", "return", "  return false;"),
    ("  return DC_E_IO;", "return", "  return 0;"),
    ("  if (n < 0) throw Error(1);", "dropped error", "  ;"),
    ("  a.store(1, std::memory_order_release);", "order", "  a.store(1, std::memory_order_relaxed);"),
])
def test_a_line_can_be_changed_so(line, kind, after):
    assert (kind, after) in list(changes(line))


@pytest.mark.parametrize("line", ["  int a;", "  return a;", "  std::vector<int> a;", "namespace a {", "}"])
def test_what_has_nothing_to_change_is_not_drawn(line):
    assert not list(changes(line))


def test_a_sample_has_a_line_once_and_is_the_same_for_a_seed(tree):
    mutants = list(mutants_of(tree, "tiny", "src"))
    drawn = sample(mutants, 100, 1)
    assert len({m.line for m in drawn}) == len(drawn) < len(mutants)
    assert sample(list(reversed(mutants)), 100, 1) == drawn != sample(mutants, 100, 2)
    assert sample(mutants, 3, 1) == drawn[:3]


ORDERS_SOURCE = """struct Words {
  std::atomic<std::uint32_t> bell, sleepers;
  std::atomic<bool> over_{false};
  int plain;
};
void a(Words& words) {
  words.bell.fetch_add(1, std::memory_order_seq_cst);  // load(std::memory_order_acquire)
  words.sleepers.load(std::memory_order_relaxed);
  words.over_.store(true);
  if (words.bell.load(std::memory_order_acquire) == 1) file.store(7);
  words.sleepers.compare_exchange_strong(old, 1,
                                         std::memory_order_acq_rel, std::memory_order_acquire);
  __atomic_store_n(&words.plain, 1, __ATOMIC_RELEASE);
}
"""


def test_every_order_is_listed_with_its_place(tmp_path):
    (tmp_path / "src/server").mkdir(parents=True)
    (tmp_path / "src/server/words.hpp").write_text(ORDERS_SOURCE, encoding="utf-8")
    assert [(order.line, order.last_line, order.kind, order.order, order.weaker()) for order in orders_of(tmp_path)] == [
        (7, 7, "update", "seq_cst", ["acq_rel"]),
        (9, 9, "store", "seq_cst", ["release"]),
        (10, 10, "load", "acquire", ["relaxed"]),
        (11, 12, "update", "acq_rel", ["acquire", "release"]),
        (13, 13, "store", "release", ["relaxed"])]


def test_no_order_of_the_sources_is_left_out_and_each_has_a_line_of_its_own():
    orders = orders_of(ROOT)
    named = [(file, number) for file, text in sources(ROOT) for number, line in code_lines(text)
             for _ in re.findall(r"memory_order_(?:acquire|release|acq_rel|seq_cst)", line.split("//")[0])]
    listed = {(order.file, line) for order in orders for line in range(order.line, order.last_line + 1)}
    assert [place for place in named if place not in listed] == []
    assert len({(order.file, order.line, order.kind, order.order) for order in orders}) == len(orders)
    assert len(orders) > 60


def test_an_access_that_the_text_does_not_show_is_told(tmp_path):
    (tmp_path / "src/server").mkdir(parents=True)
    (tmp_path / "src/server/words.hpp").write_text(ORDERS_SOURCE, encoding="utf-8")
    model = Model("model", tmp_path)
    operator = ("src/server/words.hpp", 9, "update", "seq_cst")
    model.places = dict.fromkeys([("src/server/words.hpp", 9, "store", "seq_cst"), ("src/server/words.hpp", 12, "update", "acq_rel"),
                                  ("src/server/words.hpp", 8, "load", "relaxed"), ("test/model/words.cpp", 1, "load", "seq_cst"), operator])
    assert model.unlisted(orders_of(tmp_path)) == [operator]


def test_each_reason_is_of_an_order_that_is_still_there():
    reasons = read_reasons(ROOT / "test/mutate/orders.md")
    assert reasons
    assert set(reasons) <= {(order.file, order.text) for order in orders_of(ROOT)}


def test_the_orders_can_be_listed():
    done = subprocess.run([sys.executable, HERE / "mutate.py", "--orders", "--list"], capture_output=True, text=True, timeout=60, check=True)
    assert "src/server/handover.hpp:38: store release: head_.store(head + 1, std::memory_order_release);" in done.stdout

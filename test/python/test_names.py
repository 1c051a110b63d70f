"""Objects: the same thing has one id, and files are named as they are in the end."""

import subprocess
import sys

import raw_files as raw

from damaris.objects import Renames


def file(object, path, at, number, bytes=1, layer="pwrite"):
    return raw.text(raw.PATH, path, object=object) + raw.call(number(layer), at, at + 1, object=object, bytes=bytes, place=0)


def renamed(object, old, new, at, number):
    return (raw.text(raw.PATH, new, object=object) + raw.text(raw.RENAMED, old, object=object, begin=at)
            + raw.call(number("rename"), at - 1, at + 1, object=object))  # fmt: skip


WRITTEN = "select o.name, sum(c.bytes)::bigint from calls c join objects o on o.id = c.object where c.kind = 'write' group by all order by all"


def test_a_file_that_is_opened_often_by_several_processes_is_one(run, rows, number):
    for pid in (1, 2):
        raw.write(run, raw.chunk(raw.process(pid=pid) + file(1, "/d/a", 10, number) + file(2, "/d/a", 20, number)), name=f"node.{pid}.1")
    assert rows("select id, kind, name, host from objects") == [(1, "file", "/d/a", "node")]
    assert rows("select count(distinct handle), count(distinct object) from calls") == [(2, 1)]


def test_a_file_of_two_hosts_has_no_host(run, rows, number):
    for host in ("n1", "n2"):
        raw.write(run, raw.chunk(raw.process(host=host) + file(1, "/d/a", 10, number)), name=f"{host}.1.1")
    assert rows("select name, host from objects") == [("/d/a", None)]


def test_bytes_of_a_temporary_name_are_the_final_files(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + file(1, "/d/a.tmp", 10, number, 5) + renamed(2, "/d/a.tmp", "/d/a", 20, number) + file(3, "/d/a.tmp", 30, number, 7)))
    assert rows(WRITTEN) == [("/d/a", 5), ("/d/a.tmp", 7)]


def test_renames_chain_in_the_order_of_time_across_processes(run, rows, number):
    raw.write(run, raw.chunk(raw.process(pid=1) + file(1, "/d/a", 10, number, 5)), name="node.1.1")
    raw.write(run, raw.chunk(raw.process(pid=2) + renamed(1, "/d/b", "/d/c", 40, number) + renamed(2, "/d/c", "/d/x", 30, number)), name="node.2.1")
    raw.write(run, raw.chunk(raw.process(pid=3) + renamed(1, "/d/a", "/d/b", 20, number)), name="node.3.1")
    assert rows(WRITTEN) == [("/d/c", 5)]


def test_names_that_are_exchanged_do_not_go_round_for_ever(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + file(1, "/d/a", 10, number, 5) + renamed(2, "/d/a", "/d/b", 20, number)
                             + renamed(3, "/d/b", "/d/a", 30, number)))  # fmt: skip
    assert rows(WRITTEN) == [("/d/a", 5)]


def test_a_folder_takes_its_files_along(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + file(1, "/d/part/a", 10, number, 5) + file(2, "/d/part2", 11, number, 6)
                             + renamed(3, "/d/part", "/d/whole", 20, number)))  # fmt: skip
    assert rows(WRITTEN) == [("/d/part2", 6), ("/d/whole/a", 5)]


def test_a_rename_of_another_host_counts_by_utc(run, rows, number):
    """The clocks since boot differ: n2's rename at 20 is 1 s after n1's write at 10, and before that at 2 s + 10."""
    second = 10**9
    raw.write(run, raw.chunk(raw.process(host="n1", monotonic=0, realtime=5 * second) + file(1, "/d/a.tmp", 10, number, 5)
                             + file(2, "/d/a.tmp", 2 * second + 10, number, 7)), name="n1.1.1")  # fmt: skip
    raw.write(run, raw.chunk(raw.process(host="n2", monotonic=0, realtime=6 * second) + renamed(1, "/d/a.tmp", "/d/a", 20, number)), name="n2.1.1")
    assert rows(WRITTEN) == [("/d/a", 5), ("/d/a.tmp", 7)]


def test_the_order_of_a_host_does_not_depend_on_utc(run, rows, number):
    """Which was set back while it ran: by UTC the rename came before the write."""
    raw.write(run, raw.chunk(raw.process(pid=1, monotonic=0, realtime=10**9) + file(1, "/d/a.tmp", 10, number, 5)), name="node.1.1")
    raw.write(run, raw.chunk(raw.process(pid=2, monotonic=0, realtime=0) + renamed(1, "/d/a.tmp", "/d/a", 20, number)), name="node.2.1")
    assert rows(WRITTEN) == [("/d/a", 5)]


def test_a_deleted_file_has_its_name(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + file(1, "/d/a (deleted)", 10, number)))
    assert rows("select name from objects") == [("/d/a",)]


def test_a_removed_file_does_not_follow_what_gets_its_name(run, rows, number):
    """One that was closed before, one still open, and one that was met without a name."""
    raw.write(run, raw.chunk(raw.process() + file(1, "/d/a", 10, number, 5) + file(2, "/d/a", 15, number, 6)
                             + renamed(3, "/d/a", "/d/a (deleted)", 20, number) + raw.call(number("pwrite"), 25, 26, object=2, bytes=1, place=0)
                             + file(4, "/d/a (deleted)", 27, number, 1) + file(5, "/d/a", 30, number, 7) + renamed(6, "/d/a", "/d/b", 40, number)
                             + renamed(7, "/d", "/e", 50, number)))  # fmt: skip
    assert rows(WRITTEN) == [("/d/a", 13), ("/e/b", 7)]


def test_names_that_go_to_and_fro_are_followed_once(run, rows, number, monkeypatch):
    steps, slots, count = 100, raw.process(), 0
    for i in range(steps):
        at = 100 * i
        slots += file(3 * i + 1, "/d/a", at + 10, number) + renamed(3 * i + 2, "/d/a", "/d/b", at + 20, number) + renamed(3 * i + 3, "/d/b", "/d/a", at + 30, number)
    step = Renames.next

    def counted(*words):
        nonlocal count
        count += 1
        return step(*words)

    monkeypatch.setattr(Renames, "next", counted)
    raw.write(run, raw.chunk(slots))
    assert rows(WRITTEN) == [("/d/a", steps)] and count <= 10 * steps


def test_a_communicator_of_all_processes_is_one_and_without_an_id_each_its_own(run, rows, number):
    for rank in (0, 1):
        about = raw.about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=2)
        other = raw.about(kind="communicator", name="", id="", rank=rank, size=2)
        raw.write(run, raw.chunk(raw.process(pid=rank) + raw.text(raw.DESCRIPTION, about, object=1) + raw.text(raw.DESCRIPTION, other, object=2)
                                 + raw.call(number("MPI_Barrier"), 1, 2, object=1)), name=f"node.{rank}.1")  # fmt: skip
    assert rows("select name, attributes['size'], attributes['rank'], count(*) from objects group by all order by all desc") == [
        ("MPI_COMM_WORLD", "2", None, 1), ("", "2", None, 2)]  # fmt: skip


def test_a_dataset_knows_its_file_under_its_final_name_and_its_type(run, rows, number):
    about = raw.about(kind="dataset", name="/g/T", parent=1, type="float64", extents="10x20")
    for pid in (1, 2):
        raw.write(run, raw.chunk(raw.process(pid=pid) + file(1, "/d/a.tmp", 5, number) + raw.text(raw.DESCRIPTION, about, object=2)
                                 + raw.call(number("H5Dwrite"), 10, 12, object=2, bytes=1600) + renamed(3, "/d/a.tmp", "/d/a.h5", 20, number)),
                  name=f"node.{pid}.1")  # fmt: skip
    assert rows("""select d.name, f.name, d.attributes['type'], d.attributes['extents'], count(c.id)
                   from calls c join objects d on d.id = c.object join objects f on f.id = d.parent group by all""") == [
        ("/g/T", "/d/a.h5", "float64", "10x20", 2)]  # fmt: skip


def test_a_number_that_no_text_explains_is_no_object(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + raw.call(number("pwrite"), 1, 2, object=4_000_000_000, place=0)))
    assert rows("select object from calls") == [(0,)]


def test_a_damaged_number_takes_no_memory(run, rows, number):
    """One flipped bit: a table by number would have 16 GiB."""
    slots = file(1, "/d/a", 10, number, 5) + file(2**31 + 2, "/d/b", 20, number, 6) + renamed(2**32 - 1, "/d/a", "/d/c", 30, number)
    path = raw.write(run, raw.chunk(raw.process() + slots))
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (12 << 30,) * 2)\nimport pathlib, damaris.unify as u; u.unify(pathlib.Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", limited, path.parents[1]], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert rows(WRITTEN) == [("/d/b", 6), ("/d/c", 5)]

"""Objects: the same thing has one id, and files are named as they are in the end."""

import raw_files as raw


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


def test_a_rename_of_another_host_does_not_count(run, rows, number):
    raw.write(run, raw.chunk(raw.process(host="n1") + file(1, "/tmp/a", 10, number, 5)), name="n1.1.1")
    raw.write(run, raw.chunk(raw.process(host="n2") + renamed(1, "/tmp/a", "/tmp/b", 20, number)), name="n2.1.1")
    assert rows(WRITTEN) == [("/tmp/a", 5)]


def test_a_deleted_file_has_its_name(run, rows, number):
    raw.write(run, raw.chunk(raw.process() + file(1, "/d/a (deleted)", 10, number)))
    assert rows("select name from objects") == [("/d/a",)]


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

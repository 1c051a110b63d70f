"""Programs as they are: they print the same as without the recorder, and the bytes of each file are those that strace and the file have."""

import os
import re
import shlex
import sys
from collections import Counter

import pytest
from recorded import BUILD, FLAVOUR, PROGRAMS, both, launched, one_of_several, record, run

import damaris
from damaris.facts import Facts
from damaris.findings import find

MELT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
dump one all atom 10 dump.atom
dump all all custom/mpiio 10 dump.mpiio id x y z
restart 50 restart.*
run 100
"""
TIMES = re.compile(rb"CPU|Loop time|Performance|^(Pair|Neigh|Comm|Output|Modify|Other) .*\||Total wall time", re.MULTILINE)
mpi = pytest.mark.skipif(FLAVOUR == "OFF", reason="SKIP: this build has no MPI")


def without_times(text):
    return b"\n".join(line for line in text.split(b"\n") if not TIMES.search(line))


def same_as_strace(run):
    if run.trace:
        assert run.written() == run.straced()


def covered(run, name):
    """Bytes of the file that are in at least one write, by its offset."""
    end = total = 0
    for begin, bytes_ in run.tables.query(f"""select c."offset", c.bytes from calls c join objects o on o.id = c.object
            where c.kind = 'write' and c.layer in ('posix', 'stdio') and c.bytes > 0 and o.name = '{run.folder / name}' order by 1""").fetchall():
        total += max(0, begin + bytes_ - max(begin, end))
        end = max(end, begin + bytes_)
    return total


def no_false_alarm(run, words, ranks, prepare, **more):
    """Nothing that it does to files costs a tenth of its time; who waits for whom is also a matter of more ranks than cores. Others that
    use the cores may hold a write up, but hardly in each of several runs."""

    def alarms(run):
        return [(one.code, one.seconds, one.evidence) for one in find(Facts(run.tables)) if one.severity == "high" and one.code.startswith("I")]

    def again(place):
        (place / "work").mkdir()
        prepare(place / "work")
        done = record(words, place, ranks, **more)
        assert done.status == 0, done.err
        return alarms(done)

    assert not alarms(run) or one_of_several(again, run.folder.parent, lambda high: not high) == []


def same_files(plain, recorded):
    assert plain.sizes().keys() == recorded.sizes().keys()
    for name in plain.sizes():
        assert (plain.folder / name).read_bytes() == (recorded.folder / name).read_bytes(), name


@pytest.mark.skipif(FLAVOUR != "openmpi", reason="SKIP: Debian's LAMMPS is one of Open MPI")
def test_lammps(tmp_path):
    def prepare(folder):
        (folder / "in.melt").write_text(MELT)

    plain, recorded = both(["lmp", "-in", "in.melt"], tmp_path, ranks=3, traced=True, prepare=prepare, mask=without_times)
    log = [without_times((one.folder / "log.lammps").read_bytes()) for one in (plain, recorded)]
    assert log[0] == log[1]
    for name in ("dump.atom", "dump.mpiio"):
        assert (plain.folder / name).read_bytes() == (recorded.folder / name).read_bytes()
    written, sizes = recorded.written(), recorded.sizes()
    assert {name: written[name] for name in ("dump.atom", "dump.mpiio", "log.lammps")} == {
        name: sizes[name] for name in ("dump.atom", "dump.mpiio", "log.lammps")}  # fmt: skip
    same_as_strace(recorded)
    for name, size in sizes.items():
        assert name == "in.melt" or covered(recorded, name) == size, name
    no_false_alarm(recorded, ["lmp", "-in", "in.melt"], 3, prepare)
    assert recorded.one("select count(distinct rank) from processes where rank >= 0") == 3


@mpi
@pytest.mark.parametrize("end", [[], ["left"]])
def test_parallel_hdf5(end, tmp_path):
    plain, recorded = both([PROGRAMS / "recorded_parallel_hdf5", "all.h5", *end], tmp_path, ranks=3, traced=True)
    data = 3 * 64 * 1024 * 8
    assert recorded.written()["all.h5"] >= data
    same_as_strace(recorded)
    assert (plain.folder / "all.h5").stat().st_size == (recorded.folder / "all.h5").stat().st_size
    in_end = recorded.one("""select count(*) from calls w join calls f on f.id = w.root
        where f.function = 'MPI_Finalize' and w.layer = 'posix' and w.kind = 'write' and w.bytes > 0""")
    assert (in_end > 0) == bool(end)
    # Each layer has the data, and each call of one layer is inside one of the layer above.
    for layer in ("hdf5", "mpiio"):
        assert recorded.one(f"select sum(bytes)::bigint from calls where kind = 'write' and layer = '{layer}' and bytes >= 65536") == data
    assert recorded.one("""select count(*) from calls w join calls m on m.id = w.parent join calls h on h.id = m.parent
        where w.layer = 'posix' and m.function = 'MPI_File_write_at_all' and h.function = 'H5Dwrite' and w.bytes > 0""") > 0
    assert recorded.one("select count(*) from objects where name like '%/fields/temperature' or name = '/fields/temperature'") > 0


@mpi
def test_fortran_mpi_f08(tmp_path):
    plain, recorded = both([PROGRAMS / "recorded_write_at", "blocks"], tmp_path, ranks=3, traced=True)
    same_files(plain, recorded)
    same_as_strace(recorded)
    assert recorded.written() == recorded.sizes() == {"blocks": 3 * 5000 * 8}
    assert covered(recorded, "blocks") == 3 * 5000 * 8
    assert recorded.tables.query("""select p.rank, c."offset", c.bytes from calls c join processes p on p.id = c.process
        where c.function = 'MPI_File_write_at' order by 1""").fetchall() == [(rank, rank * 40000, 40000) for rank in range(3)]


@mpi
@pytest.mark.parametrize("how", ["killed", "aborts", "ends"])
def test_a_rank_that_dies_has_left_all_that_it_wrote(how, tmp_path):
    done = record([PROGRAMS / "recorded_ranks", how], tmp_path, ranks=3)
    assert (done.status == 0) == (how == "ends")
    written, sizes = done.written(), done.sizes()
    for rank in range(3):
        assert written[f"written{rank}"] == sizes[f"written{rank}"] == 40000 * (10 + rank)
        assert written[f"streamed{rank}"] == 280_000 >= sizes[f"streamed{rank}"]
    if how == "killed":
        assert done.one("select ended from processes where rank = 1") == "killed"
    if how == "ends":
        assert done.one("select count(*) from processes where ended = 'exit'") == 3


def test_tools_of_the_system(tmp_path):
    script = """seq 20000 | sort -r -o sorted; cp sorted copied; split -b 50000 copied part.; seq 10 >>copied; tee also <sorted >/dev/null
        dd if=sorted of=blocks bs=777 status=none; gzip -n -c copied >copied.gz; tar cf all.tar --mtime=@0 sorted blocks"""
    plain, recorded = both(["sh", "-c", script], tmp_path, traced=True)
    same_files(plain, recorded)
    same_as_strace(recorded)
    assert recorded.written() == recorded.sizes()


def test_h5py(tmp_path):
    script = "import h5py; f = h5py.File('one.h5', 'w'); f.create_dataset('field', data=list(range(10000))); f.close(); print('done')"
    plain, recorded = both([sys.executable, "-c", script], tmp_path, traced=True)
    same_files(plain, recorded)
    same_as_strace(recorded)
    assert recorded.written()["one.h5"] >= 80_000
    if "H5Dwrite" in (BUILD / "lib/damaris/functions.json").read_text():
        assert recorded.one("select sum(bytes)::bigint from calls where function = 'H5Dwrite'") == 80_000


FILES_OF_ONE_NAME = """
import os, h5py
def write(count, name='one.h5'):
    with h5py.File(name, 'w') as file:
        file.create_dataset('field', data=[0.5] * count)
for step in (1, 2, 3):
    write(100 * step)
    os.rename('one.h5', f'step{step}.h5')
for count, folder in ((1000, 'here'), (2000, 'there')):
    os.mkdir(folder)
    os.chdir(folder)
    write(count)
    os.chdir('..')
"""


@pytest.mark.skipif("H5Dwrite" not in (BUILD / "lib/damaris/functions.json").read_text(), reason="SKIP: this build has no HDF5")
def test_files_of_hdf5_that_had_one_name(tmp_path):
    _, recorded = both([sys.executable, "-c", FILES_OF_ONE_NAME], tmp_path)
    rows = recorded.tables.query("""select f.name, sum(c.bytes)::bigint from calls c join objects d on d.id = c.object join objects f on f.id = d.parent
        where c.function = 'H5Dwrite' group by all""").fetchall()
    assert {recorded.name(path): count for path, count in rows} == {
        "step1.h5": 800, "step2.h5": 1600, "step3.h5": 2400, "here/one.h5": 8000, "there/one.h5": 16000}  # fmt: skip


def test_nccopy(tmp_path):
    def prepare(folder):
        import h5netcdf
        import numpy

        with h5netcdf.File(folder / "from.nc", "w") as file:
            file.dimensions = {"x": 5000}
            file.create_variable("field", ("x",), float)[:] = numpy.arange(5000.0)

    plain, recorded = both(["nccopy", "-k", "classic", "from.nc", "to.nc"], tmp_path, traced=True, prepare=prepare)
    assert (plain.folder / "to.nc").read_bytes() == (recorded.folder / "to.nc").read_bytes()
    same_as_strace(recorded)
    assert recorded.written()["to.nc"] >= covered(recorded, "to.nc") == recorded.sizes()["to.nc"] >= 40_000


@pytest.mark.skipif("CM1_PROGRAM" not in os.environ, reason="SKIP: this build has no mini-app")
def test_the_server_of_the_mini_app(tmp_path):
    sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/examples/cm1")
    from run_cm1 import prepare

    settings = {"nx": 30, "ny": 26, "nz": 20, "dtl": 6.0, "timax": 60.0, "tapfrq": 60.0, "statfrq": 60.0, "zd": 8000.0, "backend": "damaris"}
    program, environment = [os.environ["CM1_PROGRAM"]], {**os.environ, "DAMARIS_LOG": "off"}
    plain, recorded = both(program, tmp_path, ranks=3, traced=True, prepare=lambda folder: prepare(folder, settings),
                           mask=lambda text: re.sub(rb"_s=\S+", b"", text), env=environment)  # fmt: skip
    assert recorded.sizes().keys() >= {name for name in plain.sizes() if name.endswith(".h5")}
    written = recorded.written()
    outputs = [name for name, size in recorded.sizes().items() if re.search(r"\.i\d+\.h5$", name)]
    assert len(outputs) == 2 and all(written[name] > 1_000_000 for name in outputs), written
    if recorded.trace:
        straced = Counter()
        for name, count in recorded.straced().items():  # they get their names by rename
            straced[re.sub(r"^\.(.*)\.tmp\.\d+\.\w+$", r"\1", name)] += count
        assert {name: written[name] for name in outputs} == {name: straced[name] for name in outputs}
    no_false_alarm(recorded, program, 3, lambda folder: prepare(folder, settings), env=environment)
    assert recorded.one("select sum(bytes)::bigint from calls where layer = 'damaris' and kind = 'write'") > 2_000_000
    down_to_the_file(recorded)


def down_to_the_file(recorded):
    """Each block that a client wrote is in a dataset of the server, and what is below that are its bytes."""
    store = damaris.open(recorded.recording)
    [(written, linked)] = store.query("select count(*), count(*) filter (id in (select writer from links)) from calls where function like 'dc_write%' and error is null").fetchall()
    assert written == linked > 0
    datasets = store.query("""
        select c.bytes, (select sum(bytes) from links where call = c.id), p.bytes, p.creates, c.process <> r.process, c.parent = w.writer
        from calls c join calls r on r.id = c.root
        join (select call, arg_max(writer, begin) as writer from links join calls on id = writer group by all) w on w.call = c.id
        left join (select branch, sum(bytes) filter (function = 'pwrite' and bytes >= 16) as bytes, count(*) filter (function = 'H5Dcreate2') as creates
                   from calls group by all) p on p.branch = c.id
        where c.function = 'write_dataset'""").fetchall()
    assert datasets and all(row == (row[0], row[0], row[0], 1, True, True) for row in datasets), datasets
    # So the question is answered through all layers, for a client as for all, and nothing counts twice.
    layers = dict(store.ask("Latency Breakdown Inclusive").fetchall())
    assert layers.keys() >= {"damaris", "server", "hdf5", "posix"}
    assert layers["server"] == pytest.approx(store.query("""select sum("end" - "begin") / 1e9 from calls where layer = 'server' and top""").fetchall()[0][0])
    # Processes are numbered as they have started, in whichever order; what a client itself does to files is beside what the server does for it.
    clients = store.query("""select process, sum("end" - "begin") filter (layer = 'posix' and top) / 1e9 from calls
        group by all having count(*) filter (layer = 'damaris') > 0""").fetchall()
    assert len(clients) == 2
    for process, own in clients:
        of_client = dict(row[-2:] for row in store.ask(f"Latency Breakdown Inclusive [{process}]").fetchall())
        assert 0 < of_client["posix"] - (own or 0) < of_client["server"], (of_client, own)


@pytest.mark.skipif("CM1_PROGRAM" not in os.environ, reason="SKIP: this build has no mini-app")
def test_two_simulations_at_once(tmp_path):
    """Their variables, steps and clients have the same names and numbers."""
    sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/examples/cm1")
    from run_cm1 import prepare

    settings = {"nx": 30, "ny": 26, "nz": 20, "dtl": 6.0, "timax": 12.0, "tapfrq": 12.0, "statfrq": 12.0, "zd": 8000.0, "backend": "damaris"}
    for name in "ab":
        (tmp_path / "work" / name).mkdir(parents=True)
        prepare(tmp_path / "work" / name, settings)
    one = shlex.join(launched([os.environ["CM1_PROGRAM"]], 3))
    recorded = record(["sh", "-c", f"(cd a && {one}) & (cd b && {one}) & wait"], tmp_path, env={**os.environ, "DAMARIS_LOG": "off"})
    [(links, wrong)] = recorded.tables.query("""select count(*), count(*) filter (server.parent <> client.parent) from links
        join calls c on c.id = call join processes server on server.id = c.process
        join calls w on w.id = writer join processes client on client.id = w.process""").fetchall()
    assert links > 0 and wrong == 0
    assert recorded.one("select count(distinct processes.parent) from processes join calls c on c.process = processes.id where c.layer = 'server'") == 2


@pytest.mark.skipif("CM1_PROGRAM" not in os.environ, reason="SKIP: this build has no mini-app")
def test_compressed_chunks_of_the_mini_app(tmp_path):
    sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/examples/cm1")
    from run_cm1 import prepare

    settings = {"nx": 30, "ny": 26, "nz": 20, "dtl": 6.0, "timax": 12.0, "tapfrq": 12.0, "statfrq": 12.0, "zd": 8000.0, "backend": "damaris"}

    def compressed(folder):
        prepare(folder, settings)
        config = folder / "cm1.xml"
        config.write_text(re.sub(r'<hdf5 basename="cm1out"', '<hdf5 basename="cm1out" reduce="deflate"', config.read_text()))
        assert 'reduce="deflate"' in config.read_text()

    (tmp_path / "work").mkdir()
    compressed(tmp_path / "work")
    recorded = record([os.environ["CM1_PROGRAM"]], tmp_path, 3, env={**os.environ, "DAMARIS_LOG": "off"})
    assert recorded.status == 0, recorded.err
    rows = damaris.open(recorded.recording).query("""
            select o.name, count(*) filter (c.function in ('H5Dwrite_chunk', 'H5Dwrite')), count(*) filter (c.function = 'pwrite') from calls c
            join calls b on b.id = c.branch join objects o on o.id = b.object
            where b.function = 'write_dataset' and b.bytes > 10000 group by all""").fetchall()  # fmt: skip
    assert rows and all(chunks >= 1 and pwrites >= 1 for _, chunks, pwrites in rows), rows


@pytest.mark.skipif("NO_MPI_PROGRAM" not in os.environ, reason="SKIP: this build has no examples")
def test_in_place_the_server_works_in_a_call_of_the_client(tmp_path):
    config = os.environ["DAMARIS_SOURCE_DIR"] + "/examples/06_no_mpi/in_place.xml"
    environment = {**os.environ, "DAMARIS_JOB": f"recorder-{os.getpid()}", "DAMARIS_LOG": "off"}
    recorded = record([os.environ["NO_MPI_PROGRAM"], config, "0"], tmp_path, env=environment)
    store = damaris.open(recorded.recording)
    [(links, across)] = store.query("select count(*), count(*) filter (c.branch = c.id) from links join calls c on c.id = call").fetchall()
    assert links > 0 and across == 0
    assert store.query("select count(*) from calls where root <> branch").fetchall() == [(0,)]
    assert store.query("select distinct r.layer from calls c join calls r on r.id = c.root where c.function = 'on_step'").fetchall() == [("damaris",)]


@pytest.mark.skipif("NO_MPI_PROGRAM" not in os.environ, reason="SKIP: this build has no examples")
def test_a_plugin_with_a_symbol_scope_of_its_own_is_named(tmp_path):
    """As it is where the program holds another HDF5."""
    other = "libhdf5_openmpi.so.103" if FLAVOUR == "OFF" else "libhdf5_serial.so.103"
    config = os.environ["DAMARIS_SOURCE_DIR"] + "/examples/06_no_mpi/in_place.xml"
    environment = {**os.environ, "LD_PRELOAD": other, "DAMARIS_JOB": f"recorder-{os.getpid()}", "DAMARIS_LOG": "off"}
    _, recorded = both([os.environ["NO_MPI_PROGRAM"], config, "0"], tmp_path, env=environment)
    assert recorded.status == 0 and any(name.endswith(".h5") for name in recorded.sizes())
    assert not any(name.endswith(".h5") for name in recorded.written())
    told = run(["damaris", "info", recorded.recording], tmp_path)
    assert b"Not observed" in told.out and b"damaris_hdf5.so" in told.out.replace(b"\n", b"")


@pytest.mark.skipif("NO_MPI_PROGRAM" not in os.environ, reason="SKIP: this build has no examples")
def test_a_plugin_without_one_is_seen(tmp_path):
    config = os.environ["DAMARIS_SOURCE_DIR"] + "/examples/06_no_mpi/in_place.xml"
    environment = {**os.environ, "DAMARIS_JOB": f"recorder-{os.getpid()}", "DAMARIS_LOG": "off"}
    _, recorded = both([os.environ["NO_MPI_PROGRAM"], config, "0"], tmp_path, traced=True, env=environment)
    assert any(name.endswith(".h5") for name in recorded.written())
    assert not recorded.tables.losses.fetchall()

"""The file for Perfetto, read back by the schema that Perfetto publishes, as its trace processor would: events by time, those of a track nested."""

import random

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent
from raw_files import about, call, chunk, completed, end, message, process, requested, text, write

import damaris
from damaris import calls, perfetto_file

LAYERS = {"dc_write": "damaris", "H5Dwrite": "hdf5", "MPI_File_write_at_all": "mpiio", "fwrite": "stdio", "pwrite": "posix", "MPI_Barrier": "mpi"}


class Read:
    """What a file says: processes and threads by number, slices as dictionaries, flows as pairs of slices."""

    def __init__(self, path):
        trace = Trace()
        trace.ParseFromString(path.read_bytes())
        self.packets = list(trace.packet)
        self.processes, self.threads, self.slices, self.flows = {}, {}, [], {}
        assert self.packets[0].sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self.words = {"event_names": {}, "event_categories": {}, "debug_annotation_names": {}, "debug_annotation_string_values": {}}
        events = []
        for packet in self.packets:
            assert packet.trusted_packet_sequence_id == self.packets[0].trusted_packet_sequence_id
            for table, known in self.words.items():
                for one in getattr(packet.interned_data, table):
                    assert one.iid and one.iid not in known
                    known[one.iid] = one.str.decode() if table.endswith("values") else one.name
            if packet.HasField("track_descriptor"):
                self.describe(packet.track_descriptor)
            if packet.HasField("track_event"):
                assert packet.track_event.track_uuid in self.threads  # its track came before
                events.append(packet)
        self.nest(sorted(events, key=lambda packet: packet.timestamp))

    def describe(self, track):
        if track.HasField("process"):
            assert track.process.pid not in self.processes and track.process.pid > 0
            self.processes[track.process.pid] = track.process
        else:
            assert track.thread.pid in self.processes and track.uuid not in self.threads
            assert track.thread.tid not in {one.tid for one in self.threads.values()}
            self.threads[track.uuid] = track.thread

    def nest(self, events):
        around = {}
        for packet in events:
            event, stack = packet.track_event, around.setdefault(packet.track_event.track_uuid, [])
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                [layer] = event.category_iids
                values = {self.words["debug_annotation_names"][one.name_iid]:
                          self.words["debug_annotation_string_values"][one.string_value_iid] if one.string_value_iid else one.int_value for one in event.debug_annotations}  # fmt: skip
                stack.append({"thread": self.threads[event.track_uuid], "begin": packet.timestamp, "depth": len(stack), "name": self.words["event_names"][event.name_iid],
                              "layer": self.words["event_categories"][layer], "values": values})  # fmt: skip
                self.slices.append(stack[-1])
                for flow in event.flow_ids:
                    assert flow not in self.flows
                    self.flows[flow] = [stack[-1]]
            else:
                assert event.type == TrackEvent.TYPE_SLICE_END and stack
                stack[-1]["end"] = packet.timestamp
                for flow in event.terminating_flow_ids:
                    self.flows[flow].append(stack[-1])  # it had begun
                stack.pop()
        assert not any(around.values())


def nested(draw, number, begin, end, depth, out):
    at = begin
    while depth < 4 and draw.random() < 0.8:
        start = at + draw.randint(1, max(1, (end - at) // 4))
        stop = start + draw.randint(1, max(1, (end - start) // 2))
        if stop >= end:
            break
        nested(draw, number, start, stop, depth + 1, out)
        out.append(call(number(draw.choice(list(LAYERS))), start, stop, depth=depth))
        at = stop


@pytest.mark.parametrize("seed", range(4))
def test_each_call_is_a_slice_of_its_thread(run, number, verb, monkeypatch, seed):
    monkeypatch.setattr(calls, "SLAB_ROWS", 64)
    monkeypatch.setattr(calls, "SAMPLE", 1)
    monkeypatch.setattr(perfetto_file, "BATCH", 7)
    monkeypatch.setattr(perfetto_file, "PACKETS", 5)
    draw = random.Random(seed)
    for rank in range(3):
        chunks = []
        for thread in range(2):
            slots = []
            for begin in range(0, 200_000, 10_000):
                nested(draw, number, begin + 1, begin + 10_000, 1, slots)
            slots.append(call(number("dc_write"), 1, 250_000))  # around all, from the first file of the store to the last
            chunks.append(chunk((process(pid=100 + rank, rank=rank, ranks=3) if not thread else b"") + b"".join(slots), thread=thread))
        write(run, *chunks, name=f"node.{100 + rank}.1")
    assert verb("export", run, "--perfetto", "model.pftrace")[0] == 0
    read = Read(run.parent / "model.pftrace")
    stored = damaris.open(run).query('select p.rank, c.thread, c.function, c.layer, c."begin", c."end", c.depth from calls c join processes p on p.id = c.process').fetchall()
    assert len(stored) > 300 and len(list((run / "store/calls").iterdir())) > 3
    name = {pid: one.process_name.split(":")[0] for pid, one in read.processes.items()}
    shown = [(one["thread"].thread_name, name[one["thread"].pid], one["name"], one["layer"], one["begin"], one["end"], one["depth"]) for one in read.slices]
    assert sorted(shown) == sorted((f"rank {rank} thread {thread}", f"rank {rank}", *rest) for rank, thread, *rest in stored)


def test_messages_are_flows_and_calls_have_their_arguments(run, number, verb):
    for rank, mine in enumerate([
        call(number("MPI_Send"), 2000, 2100, object=1, bytes=8, place=message(1, 5)) + call(number("MPI_Bcast"), 5000, 6000, object=1, bytes=4, place=0),
        # It waits before the message is sent.
        call(number("MPI_Irecv"), 1000, 1100, object=1, place=message(0, 5)) + requested(7) + call(number("MPI_Wait"), 1500, 3000) + completed(7, 0, 5, 8)
        + call(number("MPI_Bcast"), 5500, 6000, object=1, bytes=4, place=0) + call(number("pwrite"), 7000, 9000, object=2, bytes=100, place=4096)
        + call(number("pwrite"), 9000, 9000, object=2, place=0, error=28) + end(10_000),
    ]):  # fmt: skip
        words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=2)
        write(run, chunk(process(pid=100 + rank, rank=rank, ranks=2) + text(4, words, object=1) + text(2, "/data/out", object=2) + mine), name=f"node.{100 + rank}.1")
    assert verb("export", run, "--perfetto", "model.pftrace")[0] == 0
    read = Read(run.parent / "model.pftrace")
    assert [[one["name"] for one in pair] for pair in read.flows.values()] == [["MPI_Send", "MPI_Wait"]]
    by_name = {one["name"]: one["values"] for one in read.slices if one["end"] > one["begin"]}
    assert by_name["MPI_Send"] == {"communicator": "MPI_COMM_WORLD", "bytes": 8, "peer": 1, "tag": 5}
    assert by_name["MPI_Bcast"] == {"communicator": "MPI_COMM_WORLD", "bytes": 4, "root": 0}
    assert by_name["pwrite"] == {"file": "/data/out", "bytes": 100, "offset": 4096}
    assert [one["values"]["error"] for one in read.slices if one["begin"] == one["end"]] == [28]
    assert ["ended: killed" in one.process_labels for one in read.processes.values()] == [True, False]
    snapshot = {one.clock_id: one.timestamp for one in read.packets[0].clock_snapshot.clocks}
    assert len(snapshot) == 2 and set(snapshot.values()) == {min(one["begin"] for one in read.slices)}


def test_the_same_pid_on_two_hosts_is_two_processes(run, number, verb):
    for host in ("a", "b"):
        write(run, chunk(process(pid=7, host=host) + call(number("pwrite"), 1, 2)), name=f"{host}.7.1")
    assert verb("export", run, "--perfetto", "model.pftrace")[0] == 0
    assert [one.process_name for one in Read(run.parent / "model.pftrace").processes.values()] == ["model 7 on a: model", "model 7 on b: model"]


def test_missing_calls_are_slices_of_their_own(run, number, verb):
    slots = [process(pid=7, monotonic=0, realtime=0) + call(number("pwrite"), 10, 20, depth=1) + call(number("pwrite"), 30, 40, depth=1),
             call(number("pwrite"), 70, 80, depth=1) + call(number("dc_write"), 5, 90)]  # fmt: skip
    write(run, *(chunk(one, sequence=2 * at) for at, one in enumerate(slots)))
    assert verb("export", run, "--perfetto", "model.pftrace")[0] == 0
    read = Read(run.parent / "model.pftrace")
    assert [(one["name"], one["begin"], one["end"], one["depth"]) for one in read.slices] == [
        ("dc_write", 5, 90, 0), ("pwrite", 10, 20, 1), ("pwrite", 30, 40, 1), ("calls are missing", 40, 70, 1), ("pwrite", 70, 80, 1)]  # fmt: skip
    assert ["calls are missing: an unknown number" in one.process_labels for one in read.processes.values()] == [True]


def test_what_cannot_be_exported_is_said(run, number, verb):
    status, _, complaint = verb("export", "nowhere", "--perfetto", "x")
    assert status == 1 and "there is no recording 'nowhere'" in complaint
    assert verb("export", run)[0] == 2
    write(run, chunk(process()))  # without a call
    assert verb("export", run, "--perfetto", "empty")[0] == 0 and Read(run.parent / "empty").slices == []
    status, _, complaint = verb("export", run, "--perfetto", "no/folder")
    assert status == 1 and "cannot write 'no/folder': No such file or directory; name another file" in complaint
    assert "cannot write '.': Is a directory" in verb("export", run, "--perfetto", ".")[2]


def test_a_full_disk_is_said(run, number, verb):
    write(run, chunk(process() + b"".join(call(number("pwrite"), at, at + 1) for at in range(0, 20_000, 2))))
    status, _, complaint = verb("export", run, "--perfetto", "/dev/full")
    assert status == 1 and "cannot write '/dev/full': No space left on device" in complaint

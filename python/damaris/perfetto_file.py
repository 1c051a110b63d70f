"""A recording as a file of Perfetto: processes, threads, a slice for each call, a flow for each message. The schema is that of the package `perfetto`."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BUILTIN_CLOCK_BOOTTIME, BUILTIN_CLOCK_REALTIME, Trace, TracePacket, TrackEvent

from damaris.lanes import Lanes
from damaris.progress import progress
from damaris.store import Recording, quoted

BATCH = 16384  # calls in memory
PACKETS = 1024  # that are written at once
COLUMNS = ["id", "process", "thread", "begin", "end", "layer", "function", "object", "offset", "bytes", "peer", "tag", "error", "kind"]
SEQUENCE = 1  # all packets are of one, which shares words


class Words:
    """Texts are written once, and then named by a number."""

    def __init__(self, table: str, text: str):
        self.table, self.text = table, text
        self.known: dict[str, int] = {}

    def number(self, packet: TracePacket, word: str) -> int:
        """The first packet that needs a word explains it."""
        found = self.known.get(word)
        if found is None:
            found = self.known[word] = len(self.known) + 1
            value = word.encode() if self.text == "str" else word
            getattr(packet.interned_data, self.table).add(iid=found, **{self.text: value})
        return found


class Writer:
    def __init__(self, file: BinaryIO):
        self.file = file
        self.trace = Trace()
        self.names, self.layers = Words("event_names", "name"), Words("event_categories", "name")
        self.keys, self.values = Words("debug_annotation_names", "name"), Words("debug_annotation_string_values", "str")

    def packet(self) -> TracePacket:
        if len(self.trace.packet) >= PACKETS:
            self.flush()
        return self.trace.packet.add(trusted_packet_sequence_id=SEQUENCE, sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)

    def flush(self) -> None:
        """Traces behind each other are one."""
        self.file.write(self.trace.SerializeToString())
        self.trace = Trace()  # a cleared one keeps its memory

    def begin(self, time: int) -> None:
        """Its times are UTC."""
        packet = self.packet()
        packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        for clock in (BUILTIN_CLOCK_BOOTTIME, BUILTIN_CLOCK_REALTIME):
            packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=time)

    def process(self, number: int, name: str, labels: list[str]) -> None:
        track = self.packet().track_descriptor
        track.uuid = number
        track.process.pid = number
        track.process.process_name = name
        track.process.process_labels.extend(labels)

    def thread(self, number: int, process: int, name: str) -> None:
        track = self.packet().track_descriptor
        track.uuid = number << 32
        track.parent_uuid = process
        track.thread.pid = process
        track.thread.tid = number
        track.thread.thread_name = name

    def call(self, number: int, time: int, layer: str, function: str, values: dict[str, int | str], sent: list[int]) -> None:
        packet = self.packet()
        packet.timestamp = time
        event = packet.track_event
        event.type = TrackEvent.TYPE_SLICE_BEGIN
        event.track_uuid = number << 32
        event.name_iid = self.names.number(packet, function)
        event.category_iids.append(self.layers.number(packet, layer))
        event.flow_ids.extend(sent)
        for key, value in values.items():
            one = event.debug_annotations.add(name_iid=self.keys.number(packet, key))
            if isinstance(value, str):
                one.string_value_iid = self.values.number(packet, value)
            else:
                one.int_value = value

    def end(self, number: int, time: int, received: list[int]) -> None:
        """A message ends with the end of the call that completes it, which may have begun before it was sent."""
        packet = self.packet()
        packet.timestamp = time
        packet.track_event.type = TrackEvent.TYPE_SLICE_END
        packet.track_event.track_uuid = number << 32
        packet.track_event.terminating_flow_ids.extend(received)


class Export:
    """Goes through the calls in the order of the store's files, so that only those that have not ended are kept."""

    def __init__(self, run: Recording, writer: Writer):
        self.run, self.writer, self.lanes = run, writer, Lanes(run)
        self.database = run.database.cursor()
        self.numbers: dict[tuple[int, int], int] = {}  # of threads; perfetto wants such that no two hosts share, and no two programs of a process
        self.open: dict[tuple[int, int], list[tuple[int, list[int]]]] = {}  # of a thread, ends of calls that have begun, the innermost last
        self.gaps: dict[tuple[int, int], list[tuple[int, int]]] = {}  # of a thread, when calls are missing, the first last
        for process, thread, begin, end in self.rows_of('select process, thread, "begin", "end" from gaps order by "begin" desc'):
            self.gaps.setdefault((process, thread), []).append((begin, end))
        self.objects: dict[int, tuple[str, str]] = {id: (kind, name) for id, kind, name in self.rows_of("select id, kind, name from objects")}

    def rows_of(self, sql: str) -> list[tuple]:
        return self.database.execute(sql).fetchall()

    def write(self) -> None:
        [(begin,)] = self.rows_of('select min("begin") from calls')
        self.writer.begin(begin or 0)
        self.describe()
        for path in progress(sorted((self.run.store / "calls").glob("*.parquet")), "export"):
            self.slab(path)
        for key in self.open:
            self.leave(key)
        self.writer.flush()

    def describe(self) -> None:
        lost = {process: sum(calls or 0 for calls in lost) for process, lost in self.rows_of("select process, list(calls) from losses where process is not null group by 1")}
        threads: dict[int, list[int]] = {}
        for process, thread in self.rows_of("select distinct process, thread from calls order by all"):
            threads.setdefault(process, []).append(thread)
        for process in self.lanes.facts:
            _, host, pid, program, ended = self.lanes.facts[process]
            first = len(self.numbers) + 1
            labels = [f"ended: {ended}"] + ([f"calls are missing: {lost[process] or 'an unknown number'}"] if process in lost else [])
            name = self.lanes.name(process)
            self.writer.process(first, f"{name}: {Path(program).name}", [f"host {host}, pid {pid}", *labels])
            for thread in threads.get(process, [0]):
                self.numbers[process, thread] = len(self.numbers) + 1
                self.writer.thread(self.numbers[process, thread], first, f"{name} thread {thread}")

    def messages(self, path: Path) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Of the calls of a file: the messages that each sends, and those that each completes."""
        found = []
        for end in ("send", "done"):
            rows = self.rows_of(f"""select {end}, list(number) from (select send, done, file_row_number + 1 as number
                from read_parquet({quoted(self.run.store / 'messages.parquet')}, file_row_number = true) where done is not null) m
                where {end} in (select id from read_parquet({quoted(path)}) where layer in ('mpi', 'mpiio')) group by 1""")
            found.append(dict(rows))
        return found[0], found[1]

    def slab(self, path: Path) -> None:
        sent, done = self.messages(path)
        for call in calls_of(path):
            key = call["process"], call["thread"]
            self.show_gaps(key, call["begin"])
            self.leave(key, call["begin"])
            self.writer.call(self.numbers[key], call["begin"], call["layer"], call["function"], self.values(call), sent.get(call["id"], []))
            self.open.setdefault(key, []).append((call["end"], done.get(call["id"], [])))

    def show_gaps(self, key: tuple[int, int], until: int) -> None:
        gaps = self.gaps.get(key, [])
        while gaps and gaps[-1][0] < until:
            begin, end = gaps.pop()
            self.leave(key, begin)
            self.writer.call(self.numbers[key], begin, "recorder", "calls are missing", {}, [])
            self.open.setdefault(key, []).append((end, []))

    def leave(self, key: tuple[int, int], until: int | None = None) -> None:
        """The calls of a thread that have ended before a time."""
        around = self.open.get(key, [])
        while around and (until is None or around[-1][0] <= until):
            end, received = around.pop()
            self.writer.end(self.numbers[key], end, received)

    def values(self, call: dict) -> dict[str, int | str]:
        """Its main arguments, by the name that each has there."""
        found: dict[str, int | str] = {}
        if call["object"] in self.objects:
            kind, name = self.objects[call["object"]]
            found[kind] = name
        if call["bytes"]:
            found["bytes"] = call["bytes"]
        names = {"offset": "step" if call["layer"] == "damaris" else "offset", "peer": "root" if call["kind"] == "collective" else "peer", "tag": "tag", "error": "error"}
        return found | {name: call[column] for column, name in names.items() if call[column] is not None}


def calls_of(path: Path) -> Iterator[dict]:
    """In order: by thread and begin."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH, columns=COLUMNS):
            yield from batch.to_pylist()


def write(run: Recording, file: BinaryIO) -> None:
    Export(run, Writer(file)).write()

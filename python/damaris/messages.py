"""Who sent what to whom, and who met in which collective call: the tables messages, collectives, requests and members of a store.

The k-th send of an envelope (communicator, source, destination, tag) is what the k-th posted receive that got it received: messages of one
envelope do not overtake each other (MPI 3.1, 3.5). Collective calls of a communicator, and those on a file of MPI, have the same order in all
members. So no clock is asked. Where several threads of a process send the same envelope, MPI defines no order: that of their begins is taken.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from damaris.calls import Part
from damaris.kernel import FAILED, Functions, number_of
from damaris.objects import Handles

CANCELLED, RELEASED, HALF = 1, 2, 4  # of a request's flags
ENVELOPE = ("comm", "source", "target", "tag")
SENT = np.dtype([*((name, "i4") for name in ENVELOPE), ("process", "i4"), ("begin", "i8"), ("call", "i8"), ("bytes", "i8")])
RECEIVED = np.dtype([*SENT.descr, ("done", "i8"), ("end", "i8")])
MET = np.dtype([("comm", "i4"), ("file", "i4"), ("ordinal", "i4"), ("process", "i4"), ("rank", "i4"), ("begin", "i8"), ("call", "i8")])


@dataclass
class Members:
    """The rank of a process in each communicator that it knows, by position in its numbers; -1: the number is of something else."""

    rank: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, part: Part, handles: Handles) -> "Members":
        def fact(key):
            about = (handles.described.get(number, {}) for number in part.numbers.tolist())
            found = (number_of(one.get(key)) if one.get("kind") == "communicator" else None for one in about)
            return np.array([-1 if one is None else one for one in found], np.int64)

        return cls(fact("rank"), fact("size"))


@dataclass
class Meetings:
    """Collects of all processes what they sent, received and did together."""

    functions: Functions
    sent: list[np.ndarray] = field(default_factory=list)
    received: list[np.ndarray] = field(default_factory=list)
    met: list[np.ndarray] = field(default_factory=list)
    requests: list[np.ndarray] = field(default_factory=list)
    members: dict[tuple[int, int, int], int] = field(default_factory=dict)  # size by communicator, rank and process

    def __post_init__(self):
        names, kinds = np.array(self.functions.name), np.array(self.functions.kind)
        self.sends, self.receives = kinds == "send", kinds == "receive"
        self.collective = kinds == "collective"
        self.by_comm = np.array([place == "comm" for place in self.functions.place])
        self.opens = names == "MPI_File_open"
        on_file = ("MPI_File_close", "MPI_File_set_view", "MPI_File_set_size", "MPI_File_sync")
        self.on_file = np.isin(names, on_file) | np.array([name.startswith("MPI_File_") and name.endswith("_all") for name in self.functions.name])

    def add(self, part: Part, handles: Handles, requests: np.ndarray) -> None:
        members = Members.of(part, handles)
        for at in np.flatnonzero(members.rank >= 0).tolist():
            self.members[int(part.objects[at]), int(members.rank[at]), part.process] = int(members.size[at])
        self.requests.append(with_ids(requests, part))
        self.sent.append(self.sent_by(part, members))
        self.received.append(self.received_by(part, members, requests))
        self.met.append(self.met_of(part, members))

    def sent_by(self, part: Part, members: Members) -> np.ndarray:
        rows = np.flatnonzero(self.sends[part.calls["function"]])
        return envelopes(SENT, part, members, rows, part.calls["offset"][rows], part.calls["bytes"][rows])

    def received_by(self, part: Part, members: Members, requests: np.ndarray) -> np.ndarray:
        function, offset = part.calls["function"], part.calls["offset"]
        is_half = requests["flags"] & HALF != 0
        requests = requests[(self.receives[function[requests["start"]]] | is_half) & (requests["flags"] & CANCELLED == 0)]
        blocking = np.setdiff1d(np.flatnonzero(self.receives[function]), requests["start"])
        is_known = (requests["done"] >= 0) & (requests["flags"] & RELEASED == 0)
        # One that never completed has got a message, or will, if it asked for one envelope.
        posted = offset[requests["start"]]
        asked = np.where((posted >= 0) & (posted.astype(np.int32) >= 0), posted, -1)
        rows = np.concatenate([blocking, requests["start"]])
        place = np.concatenate([offset[blocking], np.where(is_known, requests["place"], asked)])
        amount = np.concatenate([part.calls["bytes"][blocking], np.where(is_known, requests["bytes"], 0)])
        done = np.concatenate([blocking, np.where(is_known, requests["done"], -1)])
        return envelopes(RECEIVED, part, members, rows, place, amount, done)

    def met_of(self, part: Part, members: Members) -> np.ndarray:
        """Its collective calls; `file` is 0 for those on a communicator, else 1 + the ordinal of the call there that opened the file."""
        calls, fine = part.calls, part.calls["flags"] & FAILED == 0
        function = calls["function"]
        rows = np.flatnonzero(fine & (self.collective | self.opens)[function])
        by_place = self.by_comm[function[rows]]
        comm = np.where(by_place, calls["offset"][rows], calls["object"][rows]).astype(np.int64)
        on_comms = self.in_order(part, members, rows, comm, np.zeros(len(rows), np.int32))
        opened = on_comms[self.opens[function[on_comms["call"] - part.first]]]
        on_files = [np.zeros(0, MET)]
        rows = np.flatnonzero(fine & self.on_file[function])
        for handle in np.unique(calls["object"][rows]).tolist():
            mine = rows[calls["object"][rows] == handle]
            opens = opened[calls["object"][opened["call"] - part.first] == handle]
            if not len(opens):
                continue
            last = np.maximum(np.searchsorted(opens["call"], part.first + mine) - 1, 0)
            found = np.zeros(len(mine), MET)
            for key in ("comm", "rank"):
                found[key] = opens[key][last]
            found["file"], found["process"] = opens["ordinal"][last] + 1, part.process
            found["begin"], found["call"] = calls["begin"][mine] + part.shift, part.first + mine
            on_files.append(numbered(found))
        return np.concatenate([on_comms, *on_files])

    def in_order(self, part: Part, members: Members, rows: np.ndarray, comm: np.ndarray, file: np.ndarray) -> np.ndarray:
        at = np.searchsorted(part.numbers, comm, "right") - 1
        known = (part.numbers[at] == comm) & (members.rank[at] >= 0)
        found = np.zeros(len(rows), MET)
        found["comm"], found["file"], found["process"], found["rank"] = part.objects[at], file, part.process, members.rank[at]
        found["begin"], found["call"] = part.calls["begin"][rows] + part.shift, part.first + rows
        return numbered(found[known])

    def tables(self) -> tuple[dict[str, pa.Table], dict[str, int]]:
        """The tables, and how many found no partner."""
        sent, received = (np.concatenate(some or [np.zeros(0, dtype)]) for some, dtype in ((self.sent, SENT), (self.received, RECEIVED)))
        send, receive = matched(sent, received)
        messages = {
            "send": sent["call"][send], "recv": received["call"][receive],
            "done": pa.array(received["done"][receive], mask=received["done"][receive] < 0),
            "source": sent["process"][send], "target": received["process"][receive], "sent": sent["begin"][send],
            "received": pa.array(received["end"][receive], mask=received["done"][receive] < 0),
            "bytes": sent["bytes"][send], "comm": sent["comm"][send], "tag": sent["tag"][send],
        }  # fmt: skip
        collectives, lacking = self.collectives()
        requests = np.concatenate(self.requests or [np.zeros(0, REQUEST_IDS)])
        requests = requests[requests["flags"] & HALF == 0]
        tables = {
            "messages": pa.table(messages),
            "collectives": collectives,
            "requests": pa.table({"start": requests["start"], "done": pa.array(requests["done"], mask=requests["done"] < 0), "flags": requests["flags"]}),
            "members": pa.table(dict(zip(("comm", "rank", "process"), np.array(sorted(self.members), np.int32).reshape(-1, 3).T, strict=True))),
        }
        alone = {"sends_alone": len(sent) - len(send), "receives_alone": len(received) - len(receive), "collectives_lacking": lacking}
        return tables, alone

    def collectives(self) -> tuple[pa.Table, int]:
        met = np.concatenate(self.met or [np.zeros(0, MET)])
        met = met[np.lexsort([met[key] for key in ("rank", "ordinal", "file", "comm")])]
        is_new = np.ones(len(met), bool)
        is_new[1:] = np.any([met[key][1:] != met[key][:-1] for key in ("comm", "file", "ordinal")], axis=0)
        instance = np.cumsum(is_new) - 1
        sizes = {comm: size for (comm, _, _), size in self.members.items()}
        size = np.array([sizes.get(comm, 0) for comm in met["comm"][is_new].tolist()], np.int64)
        lacking = int((np.bincount(instance, minlength=len(size)) < size).sum()) if len(met) else 0
        table = {"instance": instance, **{key: met[key] for key in ("comm", "call", "process", "rank")}}
        return pa.table(table), lacking


REQUEST_IDS = np.dtype([("start", "i8"), ("done", "i8"), ("flags", "u1")])


def envelopes(dtype: np.dtype, part: Part, members: Members, rows: np.ndarray, place: np.ndarray, amount: np.ndarray, done=None) -> np.ndarray:
    """Of calls, without those that failed or have no partner; `place`: the peer and the tag."""
    calls, at = part.calls[rows], part.positions(rows)
    found = np.zeros(len(rows), dtype)
    mine, theirs = ("source", "target") if done is None else ("target", "source")
    found[mine], found[theirs] = members.rank[at], (place >> 32).astype(np.int32)
    found["comm"], found["tag"], found["process"] = part.objects[at], place.astype(np.int32), part.process
    found["begin"], found["call"], found["bytes"] = calls["begin"] + part.shift, part.first + rows, amount
    if done is not None:
        found["done"], found["end"] = np.where(done >= 0, part.first + done, -1), part.calls["end"][done] + part.shift
    return found[(calls["flags"] & FAILED == 0) & (members.rank[at] >= 0) & (place >= 0)]


def with_ids(requests: np.ndarray, part: Part) -> np.ndarray:
    found = np.zeros(len(requests), REQUEST_IDS)
    found["start"], found["flags"] = part.first + requests["start"], requests["flags"]
    found["done"] = np.where(requests["done"] >= 0, part.first + requests["done"], -1)
    return found


def ordinals(group: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """Of each element its place by `begin` in its group."""
    order = np.lexsort((begin, group))
    sorted_ = group[order]
    first = np.flatnonzero(np.r_[True, sorted_[1:] != sorted_[:-1]]) if len(group) else np.zeros(0, np.int64)
    found = np.empty(len(group), np.int64)
    found[order] = np.arange(len(group)) - np.repeat(first, np.diff(np.r_[first, len(group)]))
    return found


def numbered(met: np.ndarray) -> np.ndarray:
    met["ordinal"] = ordinals(met["comm"].astype(np.int64), met["begin"])
    return met


def matched(sent: np.ndarray, received: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of sends and of the receives that got them, in the order of sends. Of an envelope all are matched or none."""
    envelopes = [np.concatenate([sent[key], received[key]]) for key in ENVELOPE]
    order = np.lexsort(envelopes)
    is_new = np.zeros(len(order), bool)
    is_new[1:] = np.any([one[order][1:] != one[order][:-1] for one in envelopes], axis=0)
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(is_new)
    sends, receives = group[: len(sent)], group[len(sent) :]
    most = len(order) + 1
    keys = [some * most + ordinals(some, rows["begin"]) for some, rows in ((sends, sent), (receives, received))]
    _, send, receive = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    # Where one end of a message has no wrapper, all that follow it would be shifted: such envelopes are left alone.
    differ = (sent["bytes"][send] != received["bytes"][receive]) & (received["done"][receive] >= 0)
    count = np.bincount(sends, minlength=most) - np.bincount(receives, minlength=most)
    wrong = np.union1d(sends[send[differ]], np.flatnonzero(count))
    fits = ~np.isin(sends[send], wrong)
    send, receive = send[fits], receive[fits]
    order = np.argsort(send)
    return send[order], receive[order]

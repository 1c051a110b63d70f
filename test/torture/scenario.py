"""Draws a run from its seed: variables, scripts of the clients, XML, one fault and how its data are recovered.

Before it: the seed. After it: runner.py, which writes the files of the run and makes it happen.
"""

import os
import random
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from cluster import attributes_of_files, draw_cluster
from faults import FAULTS, Fault, draw_fault
from logs import draw_logs
from habits import draw_sizes, weave_alarms, weave_habits
import reads
from back_pressure import attributes_of_buffer, attributes_of_variable, draw_back_pressure
from times import line_of_time

TYPES = {"d": "double", "f": "float", "i": "int"}


@dataclass
class Variable:
    name: str
    type: str
    kind: str  # fixed, varying (each block its own length), resized (a parameter that changes) or joined (parts of one array)
    elements: int
    blocks: int
    reduce: str = ""
    every: int = 1
    on_full: str = "block"  # what holds for it, and what is said of itself
    own_on_full: str = ""
    priority: int = 0
    reduce_on_full: str = ""

    def length(self, step, source, block):
        if self.kind == "resized":
            block = "all"
        elif self.kind != "varying":
            return self.elements
        return zlib.crc32(f"{self.name} {step} {source} {block}".encode()) % (self.elements + 1)

    def tolerance(self, harder):
        if harder and self.reduce_on_full:
            return 0.05
        return 0.01 if self.reduce.startswith("relative:0.01") else 0.0


@dataclass
class Scenario:
    seed: int
    mode: str = "detached"  # detached, in-place or mpi
    started_by: str = "hand"  # of a detached server: hand or the first client
    clients: int = 1
    nodes: list = field(default_factory=list)  # under MPI: how many clients each has
    files: str = "per-server"
    schedule: str = ""  # "": as ever
    threads: int = 1  # of a client, at a time
    variables: list = field(default_factory=list)
    earlier: str = ""  # basename of a run that is there to be read: phase "before"
    scripts: dict = field(default_factory=dict)  # phase -> one list of lines for each client
    fault: Fault = None
    log: str = ""  # its <stream-log>
    recover: str = "command"  # or next: a server with stale="recover"
    on_disk: bool = False  # its folder; else in memory, which is ten times as fast
    flush_timeout_ms: int = 10000
    buffer_timeout_ms: int = 5000
    retry_ms: int = 2000  # of the storage
    sleeper: str = ""  # its XML: a plugin that takes its time with each step
    rungs: list = field(default_factory=list)  # of the buffer's on-full
    spill_size: str = ""
    attach_timeout_s: float = 60.0
    finalize_timeout_s: float = 60.0
    xml: dict = field(default_factory=dict)  # phase -> text

    def bound_s(self, word, line):
        """How long the call of a script's line may take, by the XML's time-outs."""
        if word == "flush":
            return int(line.split()[2]) / 1000 + self.buffer_timeout_ms / 1000
        if word == "read":
            return 3 * self.buffer_timeout_ms / 1000  # and then for the answer
        if word == "commit":
            return (int(line.split()[1]) + 2 * self.buffer_timeout_ms) / 1000
        if word == "append":  # unbuffered it waits for a lane, an arena, both again, and the file
            return 5 * self.buffer_timeout_ms / 1000
        if word in ("init", "meet"):
            return 60 + 60  # a server that it starts has its own
        if word == "finalize" or (word == "end" and self.mode == "in-place"):
            return self.finalize_timeout_s + self.buffer_timeout_ms / 1000
        return 2 * self.buffer_timeout_ms / 1000  # a full lane, then a full arena


def base_of(seed, variable, step, source, block):
    """The first value of a block: an argument of client.c, and what check.py computes."""
    return zlib.crc32(f"{seed} {variable} {step} {source} {block}".encode())


def draw(seed, kinds, with_mpi=True):
    """The scenario of a seed. `kinds`: the faults to choose from."""
    rng = random.Random(f"torture {seed}")
    run = Scenario(seed)
    weights = [FAULTS[kind].weight for kind in kinds]
    kind = FAULTS[rng.choices(kinds, weights)[0]]
    run.mode = rng.choices(kind.modes, [{"detached": 80, "in-place": 14, "mpi": 8 * with_mpi}[mode] for mode in kind.modes])[0]
    run.clients = 2 if run.mode == "mpi" else rng.choices((1, 2, 3, 4), (3, 5, 3, 2))[0]
    draw_cluster(run, random.Random(f"torture cluster {seed}"))
    run.started_by = rng.choices(("hand", "client"), (7, 3))[0]
    run.on_disk = rng.random() < 0.04
    run.recover = rng.choice(("command", "next"))
    run.flush_timeout_ms = rng.choice((20, 300, 10000))
    run.buffer_timeout_ms = rng.choice((0, 20, 300, 5000))
    run.variables = [draw_variable(rng, number, run.clients) for number in range(rng.randint(1, 3))]
    draw_back_pressure(rng, run)
    draw_sizes(run, random.Random(f"torture sizes {seed}"))
    steps = rng.randint(1, 7)
    run.scripts["first"] = [draw_script(rng, run, source, range(steps)) for source in range(run.clients)]
    draw_reads(run, random.Random(f"torture reads {seed}"), kind, steps)
    weave_habits(run, random.Random(f"torture habits {seed}"))
    run.fault = draw_fault(rng, run, kind)
    weave_alarms(run, random.Random(f"torture alarms {seed}"))
    run.scripts["second"] = [draw_script(rng, run, source, range(steps + 10, steps + 12), calm=True) for source in range(run.clients)]
    draw_reads_of_first(run, random.Random(f"torture reads of first {seed}"), steps)
    run.log = draw_logs(run, random.Random(f"torture logs {seed}"))
    draw_xml(rng, run)
    return run


def draw_reads(run, rng, kind, steps):
    """An earlier run, which nothing is done to, and reads of its steps, and of one that it has not, in this one."""
    if rng.random() < 0.65:
        return
    run.earlier = "earlier/e" if kind.needs_empty_folder else "out/e"  # where the faults of the storage reach it
    steps = range(rng.randint(1, 2))
    run.scripts["before"] = [draw_script(rng, run, source, steps, calm=True, seed=run.seed + reads.WRITTEN_BEFORE) for source in range(run.clients)]
    share = rng.choice((0.05, 0.2, 0.5))
    for source, lines in enumerate(run.scripts["first"]):
        reads.weave(rng, run, source, lines, range(len(steps) + 1), run.seed + reads.WRITTEN_BEFORE, base_of, share)


def draw_reads_of_first(run, rng, steps):
    if rng.random() < 0.5:
        return
    for source, lines in enumerate(run.scripts["second"]):
        reads.weave(rng, run, source, lines, range(steps), run.seed, base_of, 0.2)


def draw_variable(rng, number, clients):
    kind = rng.choices(("fixed", "varying", "joined"), (4, 3, 3))[0]
    type_ = rng.choice("dfi")
    elements = max(1, int(2 ** rng.uniform(0, 13)))
    reduce = rng.choices(("", "deflate", "relative:0.01,deflate"), (6, 2, 0 if type_ == "i" else 2))[0]
    every = rng.choices((1, 2), (5, 1))[0]
    return Variable(f"v{number}", type_, kind, elements, rng.choices((1, 2, 4), (4, 2, 1))[0], reduce, every)


def draw_script(rng, run, source, steps, calm=False, seed=None):
    # In place, a process that comes when all others have gone begins a run of its own, which replaces theirs.
    lines = ["init", "meet"] if run.mode == "in-place" else ["init"]
    flushes = rng.choice((0.0, 0.3, 1.0))
    for step in steps:
        if rng.random() < 0.2:
            lines.append(line_of_time(step))
        lines += [f"size {v.name} {v.length(step, source, 0)}" for v in run.variables if v.kind == "resized"]
        for variable in run.variables:
            if calm or rng.random() < 0.93:  # a client may leave one out
                lines += lines_of_writes(rng, run, variable, source, step, run.seed if seed is None else seed)
        if calm or rng.random() < 0.9:  # else the next step ends it
            lines.append(f"end {step}")
            if rng.random() < flushes:
                lines.append(f"flush {step} {10000 if calm else run.flush_timeout_ms}")
        if rng.random() < 0.3:
            lines.append(f"sleep {int(2 ** rng.uniform(0, 13))}")
    return lines + ["finalize"]


def lines_of_writes(rng, run, variable, source, step, seed):
    lines = []
    for block in range(variable.blocks):
        length = variable.length(step, source, block)
        if variable.kind == "varying":
            lines.append(f"shape {variable.name} {length}")
        if variable.kind == "joined":
            lines.append(f"place {variable.name} {(source * variable.blocks + block) * length}")
        word = rng.choices(("write", "alloc"), (3, 1))[0]
        base = base_of(seed, variable.name, step, source, block)
        lines.append(f"{word} {variable.name} {step} {block} {variable.type} {length} {base}")
    return lines


def draw_xml(rng, run):
    step_bytes = sum(v.elements * 8 * v.blocks for v in run.variables) * run.clients
    least_buffer = run.clients * run.threads * max(9 * v.elements + 20480 for v in run.variables)  # else the XML is refused
    fields = {
        "size": max(65536, least_buffer, int(step_bytes * 2 ** (rng.uniform(-1.5, 1.5) if run.rungs else rng.uniform(0, 4)))),
        "checksum": rng.choice(("true", "false")),
        "events": rng.choice((16, 64, 1024)),
        "schedule": run.schedule or rng.choice(("immediate", "immediate", "slots")),
        "split": rng.choice(("equal", "shared")),
    }
    earlier = {"stale": rng.choice(("refuse", "recover")), "exists": rng.choice(("overwrite", "append", "refuse"))}
    later = {"stale": "recover", "exists": "append"}
    by_hand = run.mode == "detached" and run.started_by == "hand"  # then clients start none beside it, unless it dies early
    earlier["start"] = "manual" if by_hand and not run.fault.at_start else "auto"
    later["start"] = "manual" if by_hand else "auto"
    earlier["attach"], later["attach"] = run.attach_timeout_s, 60
    earlier["finalize"], later["finalize"] = run.finalize_timeout_s, 60  # nobody is waited for in vain then
    run.sleeper = sleeper_of(random.Random(f"torture sleeper {run.seed}"))
    run.xml = {"first": xml(run, {**fields, **earlier, "basename": "out/x", "restart": run.earlier}),
               "second": xml(run, {**fields, **later, "basename": "out/x", "restart": "out/x"})}
    if run.earlier:
        run.xml["before"] = xml(run, {**fields, **later, "stale": "refuse", "basename": run.earlier, "restart": ""})


def sleeper_of(rng):
    """The XML of a plugin that sleeps while it has a step, and fails if the step's data change meanwhile; before or after the storage."""
    if rng.random() < 0.85:
        return ""
    plugin = Path(os.environ["DAMARIS_BUILD_DIR"]) / "test/plugins/damaris_test_sleeping.so"
    return f"""  <actions>
    <plugin name="sleeper" using="{plugin}">
      <setting key="longest" value="{int(2 ** rng.uniform(1, 9))}"/>
      <setting key="pieces" value="{rng.randint(1, 4)}"/>
    </plugin>
  </actions>
"""


def xml(run, fields):
    restart = f' restart="{fields["restart"]}"' if fields["restart"] else ""
    layouts, variables = "", ""
    for v in run.variables:
        whole = f' global="{v.elements * v.blocks * run.clients}"' if v.kind == "joined" else ""
        extent = v.elements
        if v.kind == "resized":
            extent = f"n_{v.name}"
            layouts += f'    <parameter name="{extent}" value="{v.elements}"/>\n'
        layouts += f'    <layout name="l_{v.name}" type="{TYPES[v.type]}" dimensions="{extent}"{whole}/>\n'
        reduce = f' reduce="{v.reduce}"' if v.reduce else ""
        variables += f'    <variable name="{v.name}" layout="l_{v.name}" every="{v.every}"{reduce}{attributes_of_variable(v)}/>\n'
    return f"""<simulation name="torture">
  <architecture>
    <dedicated cores="{0 if run.mode == 'in-place' else 1}"/>
    <clients count="{run.clients}" threads="{run.threads}"/>
    <server start="{fields['start']}" attach-timeout="{fields['attach']:.0f}s" finalize-timeout="{fields['finalize'] * 1000:.0f}ms"
      read-timeout="{max(run.buffer_timeout_ms, 1)}ms"/>
    <buffer size="{fields['size']}" split="{fields['split']}" timeout="{run.buffer_timeout_ms}ms" checksum="{fields['checksum']}"
      stale="{fields['stale']}" {attributes_of_buffer(run)}/>
    <lanes events="{fields['events']}"/>
  </architecture>
  <data>
{layouts}{variables}  </data>
  <storage>
    <hdf5 basename="{fields['basename']}"{restart} exists="{fields['exists']}" schedule="{fields['schedule']}" retry="{run.retry_ms}ms"{attributes_of_files(run)}/>
    {run.log}
  </storage>
{run.sleeper}  <log level="info" file="log"/>
</simulation>
"""

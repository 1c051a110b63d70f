"""What a run left on disk, read by the logs of its manifest: the values of each block, and what the manifest says of each step."""

import os
import sys
from dataclasses import dataclass, field

import h5py
import numpy

sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/test/support")
from manifest_lines import logs_of, records_of, steps_of  # noqa: E402


@dataclass
class Stored:
    blocks: dict = field(default_factory=dict)  # (variable, step, source, block) -> values
    steps: set = field(default_factory=set)
    failed_steps: set = field(default_factory=set)
    missing: set = field(default_factory=set)  # clients
    missing_of: dict = field(default_factory=dict)  # step -> clients
    left_out: set = field(default_factory=set)  # (variable, step) that a node was to leave out for want of room
    dropped_steps: set = field(default_factory=set)
    reduced_steps: set = field(default_factory=set)
    servers: int = 1
    regions: list = field(default_factory=list)  # of each log: the beginning of their names
    complete_by: dict = field(default_factory=dict)  # step -> servers whose records call it complete
    recovered_steps: set = field(default_factory=set)
    times: dict = field(default_factory=dict)  # step -> physical time, where there is one
    spilled_bytes: int = 0
    damaged: list = field(default_factory=list)  # sentences

    def is_complete(self, step):
        return len(self.complete_by.get(step, ())) == self.servers


def read_stored(out):
    stored = Stored()
    files = {}  # generation, log, name -> step and what the last record says of it
    first, all_of = {}, {}  # by generation: the lowest step with files; whether that replaces all of earlier ones
    for generation, _, _, path in logs_of(out, "x") if out.exists() else []:
        run = next((record for record in records_of(path, []) if "run" in record), {})
        all_of[generation] = all_of.get(generation) or run.get("replaces") == "all"
        stored.servers = run.get("servers", 1) or 1
        stored.regions.append(run.get("regions", ""))
        for step in steps_of(path, stored.damaged):
            stored.steps.add(step["step"])
            if step.get("failures"):
                stored.failed_steps.add(step["step"])
            stored.missing.update(step.get("missing", []))
            stored.missing_of.setdefault(step["step"], set()).update(step.get("missing", []))
            take_back_pressure(stored, step)
            take_time(stored, step)
            for file in step.get("files", []):
                files[generation, path, file["name"]] = (step["step"], file)
                first[generation] = min(first.get(generation, step["step"]), step["step"])
    for (generation, _, name), (step, told) in files.items():
        if any(later > generation and (all_of[later] or step >= begin) for later, begin in first.items()):
            continue
        try:
            with h5py.File(out / name, "r") as file:
                for dataset in told["datasets"]:
                    for source, block, values in parts_of(file[dataset["path"]], dataset):
                        stored.blocks[dataset["variable"], step, source, block] = values
        except (OSError, KeyError, ValueError) as error:
            stored.damaged.append(f"{name} of step {step} cannot be read: {error}")
    return stored


def take_back_pressure(stored, line):
    step = line["step"]
    stored.left_out.update((variable, step) for variable in line.get("skipped", []))
    stored.dropped_steps |= {step} if line.get("dropped") else set()
    stored.reduced_steps |= {step} if line.get("reduced") else set()
    stored.spilled_bytes += line.get("spilled_bytes", 0)


def take_time(stored, line):
    """The last record of a step and server says whether it is complete; what one says and a later one does not still holds."""
    step = line["step"]
    by = stored.complete_by.setdefault(step, set())
    (by.update if line.get("complete") else by.difference_update)(line.get("servers", []))
    stored.recovered_steps |= {step} if line.get("recovered") else set()
    if "time" in line:
        stored.times[step] = line["time"]


def parts_of(dataset, told):
    values, attributes = dataset[()], dataset.attrs
    if "part_positions" in attributes:
        begin = attributes["position"]
        positions, sizes = (attributes[name].reshape(-1, values.ndim) for name in ("part_positions", "part_extents"))
        parts = zip(attributes["sources"], attributes["blocks"], positions, sizes)
        for source, block, position, extents in parts:
            place = tuple(slice(p - b, p - b + e) for p, b, e in zip(position, begin, extents))
            yield int(source), int(block), values[place]
    elif "sources" in told:
        for source, block, part in zip(told["sources"], told["blocks"], values):
            yield source, block, part
    else:
        yield told["source"], told["block"], values


def expected(base, length, type_):
    counted = (numpy.uint32(base) + numpy.arange(length, dtype=numpy.uint32) * numpy.uint32(40503)) & numpy.uint32(0xFFFFFF)
    return counted.astype({"d": "f8", "f": "f4", "i": "i4"}[type_])


def same(values, wanted, tolerance):
    if values.shape != wanted.shape:
        return False
    if tolerance == 0:
        return bool(numpy.array_equal(values, wanted))
    return bool(numpy.all(numpy.abs(values.astype("f8") - wanted) <= tolerance * numpy.abs(wanted)))

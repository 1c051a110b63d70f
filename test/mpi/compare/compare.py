"""compare.py FOLDER FILES STEPS: every byte of the damaris files against the raw file of each process.

Joined variables: all boxes of all servers together are the global array, each element where the raw files have it, and each server's
boxes hold exactly its own clients' tiles; in a file of several servers one dataset is the whole global array, with nothing but the fill
value where none of them has a tile. FILES are those of each step, or a comma list with a number for each. Others: one dataset per client and block, or all of them stacked. Nothing may be missing, nothing more may be there.
"""
import json
import os
import pathlib
import sys

import h5py
import numpy

sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/test/support")
from manifest_lines import logs_of, records_of, steps_of  # noqa: E402

PARTICLE = numpy.dtype({"names": ["id", "place", "kind"], "formats": ["<i8", ("<f4", (3,)), "S1"],
                        "offsets": [0, 8, 20], "itemsize": 24})


def numbers(text):
    return tuple(int(number) for number in text.split(","))


def raw_datasets(folder):
    """{(variable, step, source, block): (position or None, array)}"""
    found = {}
    for index in folder.glob("index.*"):
        source = int(index.suffix[1:])
        raw = (folder / f"raw.{source}").read_bytes()
        for line in index.read_text().splitlines():
            variable, step, block, kind, extents, position, offset = line.split()
            dtype = PARTICLE if kind == "particle" else numpy.dtype("<" + kind)
            shape = numbers(extents)
            count = int(numpy.prod(shape, dtype=int))
            array = numpy.frombuffer(raw, dtype, count, int(offset)).reshape(shape)
            found[variable, int(step), source, int(block)] = (None if position == "-" else numbers(position), array)
    return found


def same_bytes(a, b):
    """Field by field: what lies between the fields of a manifest is nobody's."""
    if a.dtype.names is None:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return a.shape == b.shape and all(numpy.ascontiguousarray(a[n]).tobytes() == numpy.ascontiguousarray(b[n]).tobytes()
                                      for n in a.dtype.names)


def leaves(file):
    """{path: dataset}"""
    found = {}
    file.visititems(lambda path, item: found.update({path: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def paint(pieces, shape, dtype):
    """The pieces in an array, and how often each element was given."""
    canvas, times = numpy.zeros(shape, dtype), numpy.zeros(shape, int)
    for position, array in pieces:
        place = tuple(slice(low, low + extent) for low, extent in zip(position, array.shape))
        canvas[place] = array
        times[place] += 1
    return canvas, times


FILL = {"i1": -127, "i2": -32767, "i4": -2147483647, "i8": -9223372036854775806,
        "u1": 255, "u2": 65535, "u4": 4294967295, "u8": 18446744073709551614}


def is_filling(values):
    """netCDF's default of the type, or NaN: no number that a simulation may have meant."""
    if values.dtype.kind == "f":
        return numpy.isnan(values).all()
    return (values == FILL[values.dtype.kind + str(values.dtype.itemsize)]).all()


def check_shared(path, dataset, raw):
    """The whole array in a file of several servers against the tiles of their clients."""
    wanted, given = paint(raw, tuple(dataset.attrs["global_extents"]), raw[0][1].dtype)
    stored = dataset[()]
    assert stored.dtype == wanted.dtype and stored.shape == wanted.shape, f"{path}: {stored.dtype} {stored.shape} in the file"
    assert not dataset.attrs["position"].any(), f"{path}: it does not begin at zero"
    assert stored[given > 0].tobytes() == wanted[given > 0].tobytes(), f"{path}: bytes differ"
    assert is_filling(stored[given == 0]), f"{path}: values where nobody wrote any"
    assert sum(numpy.prod(extents) for extents in dataset.attrs["part_extents"].reshape(-1, dataset.ndim)) == (given > 0).sum(), f"{path}: other parts"
    return stored.nbytes


def check_joined(path, datasets, raw):
    """The boxes of one server against the tiles of its clients."""
    boxes = [(tuple(d.attrs["position"]), d[()]) for d in datasets]
    shape = tuple(datasets[0].attrs["global_extents"])
    dtype = raw[0][1].dtype
    assert all(box.dtype == dtype for _, box in boxes), f"{path}: {boxes[0][1].dtype} in the file, {dtype} in memory"
    stored, times = paint(boxes, shape, dtype)
    wanted, given = paint(raw, shape, dtype)
    assert times.max() == 1, f"{path}: boxes overlap"
    assert ((times > 0) == (given > 0)).all(), f"{path}: other elements are stored than were written"
    assert stored.tobytes() == wanted.tobytes(), f"{path}: bytes differ"
    return sum(array.nbytes for _, array in boxes)


def check_stack(path, dataset, blocks):
    """The blocks of one server without a position, one behind the other."""
    layers = list(zip(dataset.attrs["sources"].tolist(), dataset.attrs["blocks"].tolist()))
    assert layers == sorted((source, block) for _, _, source, block in blocks), f"{path}: other blocks than were written"
    for (_, _, source, block), (_, array) in blocks.items():
        assert same_bytes(dataset[layers.index((source, block))], array), f"{path}: block {block} of client {source} differs"
    return dataset.nbytes


def check_file(path, raw, clients, steps):
    with h5py.File(path) as file:
        step = int(file.attrs["iteration"])
        assert step in steps and path.name.endswith(f".i{step}.h5"), path
        mine = set(int(client) for client in file.attrs["clients"])
        assert not mine & clients[step], f"{path}: clients {mine & clients[step]} are in another file of step {step} too"
        clients[step] |= mine
        of_these = {key: value for key, value in raw.items() if key[1] == step and key[2] in mine}
        return check_datasets(path, leaves(file), of_these, "writers" in file.attrs)


def check_datasets(path, stored, raw, shared):
    checked = 0
    for variable in sorted({key[0] for key in raw}):
        blocks = {key: value for key, value in raw.items() if key[0] == variable}
        if all(position is not None for position, _ in blocks.values()):
            names = [name for name in stored if name == variable or name.startswith(variable + "/box")]
            assert names, f"{path}: {variable} is missing"
            if shared:
                assert names == [variable], f"{path}: {names} instead of one array"
                checked += check_shared(f"{path}: {variable}", stored.pop(variable), list(blocks.values()))
                continue
            checked += check_joined(f"{path}: {variable}", [stored.pop(name) for name in names], list(blocks.values()))
            continue
        if variable in stored:
            checked += check_stack(f"{path}: {variable}", stored.pop(variable), blocks)
            continue
        for (_, _, source, block), (_, array) in blocks.items():
            name = f"{variable}/{source}" + (f".{block}" if block else "")
            assert name in stored, f"{path}: {name} is missing"
            assert same_bytes(stored.pop(name)[()], array), f"{path}: {name} differs"
            checked += array.nbytes
    assert not stored, f"{path}: nobody wrote {sorted(stored)}"
    return checked


def check_record(folder, counts):
    """Every step is complete in the logs of all servers, and its files are those in the folder."""
    logs = [path for _, _, _, path in logs_of(folder, "damaris")]
    servers, lossless = set(), set()  # the latter need not record steps that their clients left out
    for path in logs:
        records = list(records_of(path))
        servers.add(records[0]["server"])
        if any("end" in record and not record.keys() & {"lost", "never_attached"} for record in records):
            lossless.add(records[0]["server"])
    steps = [step for path in logs for step in steps_of(path)]
    assert {step["step"] for step in steps} == set(range(len(counts))), "other steps are in the manifest"
    for number, count in enumerate(counts):
        mine = [step for step in steps if step["step"] == number]
        assert all(step["complete"] for step in mine), f"step {number} is not complete"
        told = {server for step in mine for server in step["servers"]}
        assert servers - told <= lossless, f"step {number}: servers {told} have recorded it"
        names = {file["name"] for step in mine for file in step.get("files", [])}  # each of several servers describes its part of a file
        assert len(names) == count, f"step {number}: other files"


def main(folder, counts, steps):
    folder = pathlib.Path(folder)
    raw = raw_datasets(folder)
    counts = numbers(counts) if "," in counts else (int(counts),) * steps
    files = sorted(folder.glob("damaris.*.h5"))
    assert len(files) == sum(counts), f"{len(files)} files, {counts} wanted in the steps"
    clients = {step: set() for step in range(steps)}
    checked = sum(check_file(path, raw, clients, range(steps)) for path in files)
    sources = {key[2] for key in raw}
    for step, found in clients.items():
        wanted = sources if counts[step] == max(counts) else {key[2] for key in raw if key[1] == step}
        assert found == wanted, f"step {step}: clients {wanted}, in the files {found}"
    check_record(folder, counts)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], "temporary files are left"
    print(f"{len(files)} files, {len(raw)} raw datasets of {len(sources)} clients, {checked} bytes compared: all equal")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

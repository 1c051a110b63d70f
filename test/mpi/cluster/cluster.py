"""cluster.py FOLDER DEAD: node DEAD has died. Step 0 is whole, and of step 1 the parts of the nodes that live are in files; the manifest tells of both."""
import json
import pathlib
import sys

import h5py

folder, dead = pathlib.Path(sys.argv[1]), int(sys.argv[2])


def holds(item, value):
    datasets = [item] if isinstance(item, h5py.Dataset) else list(item.values())
    return any((dataset[...] == value).sum() == 1000 for dataset in datasets)


def parts(step):
    """The clients whose part of x is in a file of that step, as they wrote it."""
    found = set()
    for path in folder.glob(f"storm.*.i{step}.h5"):
        with h5py.File(path) as file:
            found |= {client for client in range(6) if holds(file["x"], 1000.0 * step + client)}
    return found


lines = [json.loads(line) for path in folder.glob("storm.g1.*.jsonl") for line in path.read_bytes().split(b"\n")[:-1]]
complete = {step for step in (0, 1) if {line["server"] for line in lines if "run" in line}
            == {server for line in lines if line.get("step") == step and line["complete"] for server in line["servers"]}}
assert parts(0) == set(range(6)) and complete == {0}, f"step 0: {parts(0)}; complete: {complete}"
servers = {server for line in lines if line.get("step") == 1 for server in line["servers"]}
living = set(range(6)) - {2 * dead, 2 * dead + 1}
assert parts(1) >= living and servers >= {0, 1, 2} - {dead}, f"step 1: {parts(1)} of servers {servers}"
print("step 0 is whole; of step 1 there are the parts of clients", sorted(parts(1)))

"""Several servers under MPI, on virtual nodes of this machine: how many clients each has, which ones write files together, and when.

Before it: scenario.py. After it: runner.py, which starts the ranks; check.py, since what a flush promises holds for a node.
"""

SHARED = ("single", "per-group")


def draw_cluster(run, rng):
    if run.mode != "mpi":
        return
    run.nodes = rng.choices(([2], [1, 1], [2, 1], [1, 1, 1]), (3, 3, 2, 1))[0]
    run.clients = sum(run.nodes)
    run.files = rng.choices(("per-server", *SHARED), (5, 3, 2))[0]
    if run.files in SHARED:
        run.schedule = "immediate"
    elif rng.random() < 0.4:
        run.schedule = "coordinated"


def attributes_of_files(run):
    text = f' files="{run.files}"' if run.mode == "mpi" else ""
    return text + (' group-size="2"' if run.files == "per-group" else "")


def scripts_of_ranks(run):
    """Of each rank the name of its script: its number as a client, or s and its number as a server, which is the last of its node."""
    names, client = [], 0
    for server, clients in enumerate(run.nodes):
        names += [*map(str, range(client, client + clients)), f"s{server}"]
        client += clients
    return names


def environment_of_nodes(run):
    return {"DAMARIS_RANKS_PER_NODE": ",".join(str(clients + 1) for clients in run.nodes)} if run.mode == "mpi" else {}


def neighbours(run, source):
    """The clients of the same server."""
    if run.mode == "in-place":
        return {source}
    first = 0
    for clients in run.nodes:
        if source < first + clients:
            return set(range(first, first + clients))
        first += clients
    return set(range(run.clients))

"""Limits of resources, as a batch system, a container or a shell sets them: of files' sizes, open files, memory, processes.

Of the first phase's processes: the server, the clients, or both. Whoever meets one says so; nobody dies of it. A kind of faults.py.
"""

LIMITS = {
    "fsize": (12, 22),  # bytes, powers of two
    "nofile": (3, 7),
    "as": (26, 30),  # bytes; what the programs need to be loaded is within
    "nproc": (0, 4),  # root is not bound by it
}
WHOSE = ("server", "clients", "all")


def draw_limit(rng):
    name = rng.choices(list(LIMITS), (4, 2, 2, 1))[0]
    return f"{name} {int(2 ** rng.uniform(*LIMITS[name]))} {rng.choice(WHOSE)}"


def limited(_runner, fault, who):
    """What comes before a command of `who`: server, clients or recover."""
    name, value, whose = fault.rule.split()
    return ["prlimit", f"--{name}={value}"] if who in ("server", "clients") and whose in (who, "all") else []

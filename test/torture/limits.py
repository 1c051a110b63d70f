"""Limits that a shell or a batch system sets before a run starts: of the size of a file, of open files.

For the first phase's server, its clients, or both. Whoever meets one says so; nobody dies of it. A kind of faults.py.
"""

LIMITS = {
    "fsize": (12, 22),  # bytes, powers of two
    "nofile": (3, 7),
}
WHOSE = ("server", "clients", "all")


def draw_limit(rng):
    name = rng.choices(list(LIMITS), (4, 2))[0]
    return f"{name} {int(2 ** rng.uniform(*LIMITS[name]))} {rng.choice(WHOSE)}"


def limited(_runner, fault, who):
    """What comes before a command of `who`: server, clients or recover."""
    name, value, whose = fault.rule.split()
    soft = ":" if name == "fsize" else ""  # the client's own books are not limited
    return ["prlimit", f"--{name}={value}{soft}"] if who in ("server", "clients") and whose in (who, "all") else []

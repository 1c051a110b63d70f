"""Limits of resources, as a batch system, a container or a shell sets them: of files' sizes, open files, memory, processes.

Of the first phase's processes: the server, the clients, or both. Whoever meets one says so; nobody dies of it. A kind of faults.py.
"""

import subprocess
from functools import cache

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


@cache
def starts_in_little_memory():
    """Not what a sanitizer has built, which reserves terabytes of addresses."""
    done = subprocess.run(["prlimit", f"--as={2**30}", "damaris-verify", "--version"], capture_output=True, timeout=20, check=False)
    return done.returncode == 0


def cannot_limit(fault):
    return "" if not fault.rule.startswith("as ") or starts_in_little_memory() else "the programs cannot start in 1 GiB of addresses"


def limited(_runner, fault, who):
    """What comes before a command of `who`: server, clients or recover."""
    name, value, whose = fault.rule.split()
    soft = ":" if name == "fsize" else ""  # the client's own books are not limited
    return ["prlimit", f"--{name}={value}{soft}"] if who in ("server", "clients") and whose in (who, "all") else []

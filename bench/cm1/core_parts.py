"""More cores than this machine has: each rank gets a part of one, by a quota of the processor that Linux keeps.

Used by: equal_cores.py, where a run has more ranks than cores. Before it: the cpu controller of cgroups, and the right to use it.
After it: words to put before the program of each rank. The groups are gone afterwards.
"""

import os
import time
from contextlib import contextmanager
from pathlib import Path

from run_cm1 import RunFailed

PERIOD_US = 4000  # short, as ranks wait for their neighbours, which may just have used up theirs
LEAST_QUOTA_US = 1000  # that the kernel takes
GROUPS = Path("/sys/fs/cgroup")
# $0: groups without their rank. $1: cores, which the ranks take in turn. Of mpirun's environments, whichever there is.
ENTER = '''rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
echo $$ > "$0.$rank/cgroup.procs" || exit 1
count=$(echo "$1" | wc -w)
core=$(echo "$1" | cut -d ' ' -f $((rank % count + 1)))
shift
exec taskset -c "$core" "$@"'''
REMOVED_S = 20  # until what has run in a group has ended


class NoParts(RunFailed):
    """Parts of cores cannot be had here: the benchmark is left out, and has not failed."""

    status = 77


@contextmanager
def parts_of_cores(ranks, part):
    """part: of a core, for each rank; 1 or more: a whole one, and nothing is done. Raises NoParts where it cannot be had."""
    if part >= 1:
        yield []
        return
    prefix = f"{base()}/{name_of(os.getpid())}"
    groups = [Path(f"{prefix}.{rank}") for rank in range(ranks)]
    try:
        for group in groups:
            make(group, part)
        yield ["sh", "-c", ENTER, prefix, " ".join(map(str, sorted(os.sched_getaffinity(0))))]
    finally:
        for group in groups:
            remove(group)


def name_of(pid):
    """What the groups of a benchmark begin with, so that nobody else's is touched."""
    return f"damaris-bench.{pid}"


def left_groups(pid):
    """Those that are there."""
    return [group for place in (GROUPS, GROUPS / "cpu") for group in place.glob(f"{name_of(pid)}.*")]


def base():
    """Where groups with a quota can be made: the cpu controller of version 1, or that of version 2."""
    if (GROUPS / "cpu" / "cgroup.procs").exists():
        return GROUPS / "cpu"
    controllers = GROUPS / "cgroup.subtree_control"
    if controllers.exists() and "cpu" in controllers.read_text().split():
        return GROUPS
    raise NoParts(no_parts(f"there is no cpu controller below {GROUPS}"))


def make(group, part):
    quota_us = max(LEAST_QUOTA_US, round(part * PERIOD_US))
    period_us = round(quota_us / part)
    try:
        group.mkdir()
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota_us} {period_us}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    except OSError as failure:
        raise NoParts(no_parts(str(failure))) from failure


def remove(group):
    """One that cannot be removed hinders neither the others nor an error that is on its way."""
    end = time.monotonic() + REMOVED_S
    while group.is_dir():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > end:
                return
            time.sleep(0.05)


def no_parts(why):
    return (f"a rank on each core needs more cores than the {len(os.sched_getaffinity(0))} here, or a part of one for each: {why}; "
            "run it as root, or use a smaller --cores")

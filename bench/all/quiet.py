"""How quiet the machine was meanwhile: what other processes and the host took.

Used by: campaign.py. Before it: /proc/stat. After it: shares, 0 on a machine of one's own.
"""

import os
import resource
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class Watch:
    """From its making on. Processes of this one count as its own when they have been waited for."""

    def __init__(self):
        self.begin = state()

    def seen(self):
        """others_cores: cores that others used, the kernel's own threads among them; stolen_percent: of the time the host took."""
        elapsed, busy, own, stolen = (now - then for now, then in zip(state(), self.begin))
        return dict(others_cores=round(max(0.0, busy - own) / elapsed, 3),
                    stolen_percent=round(100 * stolen / elapsed / (os.cpu_count() or 1), 2))


def state():
    """Seconds: the clock, processors busy, this process and its children, taken by the host."""
    user, nice, system, _, _, irq, softirq, stolen = (int(word) / TICKS for word in first_line().split()[1:9])
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.monotonic(), user + nice + system + irq + softirq, sum(one.ru_utime + one.ru_stime for one in used), stolen


def first_line():
    return Path("/proc/stat").read_text().split("\n", 1)[0]

"""The facts of this machine that figures depend on, under the names that damaris-bench uses.

Used by: the benchmarks with the mini-app, bench phases.
"""

import os
import platform
import re
from pathlib import Path


def describe_machine():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return dict(processor=found[1] if found else "unknown", cores=len(os.sched_getaffinity(0)),
                memory_bytes=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
                system=f"{platform.system()} {platform.release()}", load_1min_at_start=os.getloadavg()[0], damaris=version())


def machine_text(machine):
    """One sentence for a page."""
    return (f"{machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, {machine['system']}; "
            f"Damaris {machine['damaris']}; load at the start {machine['load_1min_at_start']:.1f}.")


def version():
    text = (Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text()
    return re.search(r"project\(\w+\s+VERSION ([\d.]+)", text, re.IGNORECASE)[1]

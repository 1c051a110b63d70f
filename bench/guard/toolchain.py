"""What an instruction count depends on besides the code: compiler, options, preset, glibc, processor.

Used by: guard.py. Before it: bench/toolchain.json, which the build has written. After it: the baseline, and how strictly counts are compared.
"""

import json
import os
import platform
from pathlib import Path

from failure import Failure

KEYS = ("compiler", "options", "preset", "glibc", "processor")


def describe_toolchain():
    build = Path(os.environ["DAMARIS_BUILD_DIR"])
    try:
        told = json.loads((build / "bench" / "toolchain.json").read_text())
    except (OSError, ValueError) as why:
        raise Failure(f"{build} does not tell its compiler ({why}); build it with: ./dev build") from why
    found = dict(told, glibc=platform.libc_ver()[1], processor=platform.machine())
    return {key: found[key] for key in KEYS}


def differences(theirs, ours):
    """Sentences, one for each fact in which two toolchains differ."""
    return [f"{key}: here {ours[key] or 'none'}, baseline {theirs.get(key) or 'none'}" for key in KEYS if theirs.get(key) != ours[key]]

"""Results that are made up, for the tests of bench all. Before it: nothing. After it: NAME.json in a folder."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "bench" / folder) for folder in ("all", "cm1", "page", "phases")]
sys.path.append(str(ROOT / "examples" / "cm1"))

MACHINE = dict(processor="A processor", cores=2, memory_bytes=2**34, system="Linux 6", damaris="0.1.0")


def row(name, ratio, better="higher", good=4, aim=8):
    return dict(name=name, ratio=ratio, better=better, good=good, aim=aim, interval=[ratio - 0.1, ratio + 0.1])


def report(*rows):
    return dict(machine=MACHINE, rows=list(rows), details=[dict(a=1)])


def write(folder, name, what):
    (folder / f"{name}.json").write_text(what if isinstance(what, str) else json.dumps(what))

"""The levels of a store: pictures of the whole time, a row for each thread and two bytes a bin, from which the viewer takes what it shows.

levels/0.npy is the finest; each next one has a quarter of the bins. The bytes: 1 + the layer that was innermost longest (0: none), and its
share of the bin in 255ths.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from damaris import kernel
from damaris.calls import Part
from damaris.errors import Refused
from damaris.kernel import LAYERS, Functions
from damaris.progress import progress
from damaris.store import Recording

BINS = 32768  # of the finest level
MOST = 1 << 25  # bytes of the finest level
COARSEST = 256
STEP = 4
# In SQL, the number of a call's layer; of one that is not known here a larger one.
NUMBER = f"coalesce(list_position({list(LAYERS)}, layer) - 1, {len(LAYERS)})::utinyint"


Lane = tuple[np.ndarray, np.ndarray, np.ndarray]  # of a thread's calls begin, end and layer; by begin, those around others first


def write(rows: list[tuple[int, int]], lanes: Iterable[Lane], begin: int, end: int, folder: Path) -> None:
    """`rows`: process and thread of each lane. levels.json: begin and end of the time in ns, the rows as [process, thread], and the layers."""
    bins = BINS
    while bins > COARSEST and len(rows) * bins * 2 > MOST:
        bins //= STEP
    sizes = [bins // STEP**level for level in range(16) if bins // STEP**level >= COARSEST]
    levels = [np.zeros((len(rows), size, 2), np.uint8) for size in sizes]
    for at, calls in enumerate(lanes):
        width = (end - begin) / bins
        ns = kernel.paint(*calls, begin, width, bins)
        for level in levels:
            level[at] = kernel.shade(ns, width)
            ns, width = ns.reshape(-1, STEP, len(LAYERS)).sum(1) if len(ns) >= STEP else ns, width * STEP
    folder.mkdir()
    for number, level in enumerate(levels):
        np.save(folder / f"{number}.npy", level)
    about = {"begin": begin, "end": end, "rows": rows, "layers": LAYERS}
    (folder / "levels.json").write_text(json.dumps(about) + "\n")


def write_of_parts(parts: list[Part], functions: Functions, folder: Path) -> None:
    """At unify."""
    rows = [(part, first, end) for part in parts for first, end in part.threads()]
    begin = min((int(part.calls["begin"][first]) + part.shift for part, first, _ in rows), default=0)
    end = max((int(part.calls["end"][first:last].max()) + part.shift for part, first, last in rows), default=0) + 1
    layers = np.array([LAYERS.index(one) if one in LAYERS else len(LAYERS) for one in functions.layer], np.uint8)

    def lane(part: Part, first: int, last: int) -> Lane:
        calls = part.calls[first:last]
        return calls["begin"] + part.shift, calls["end"] + part.shift, layers[calls["function"]]

    keys = [(part.process, int(part.calls["thread"][first])) for part, first, _ in rows]
    write(keys, (lane(*row) for row in progress(rows, "paint")), begin, end, folder)


def write_of_store(run: Recording, folder: Path) -> None:
    """Of a store that has none, or of another version: a process after the other."""
    database = run.database.cursor()
    [(begin, end)] = database.execute('select coalesce(min("begin"), 0), coalesce(max("end"), 0) + 1 from calls').fetchall()
    rows = database.execute("select distinct process, thread from calls order by all").fetchall()
    processes = list(dict.fromkeys(process for process, _ in rows))

    def lanes() -> Iterator[Lane]:
        for process in progress(processes, "paint"):
            calls = database.execute(f'select thread, "begin", "end", {NUMBER} as layer from calls where process = {process} order by thread, "begin", depth').fetchnumpy()
            edges = [0, *(np.flatnonzero(np.diff(calls["thread"])) + 1).tolist(), len(calls["thread"])]
            for first, last in pairwise(edges):
                yield calls["begin"][first:last], calls["end"][first:last], calls["layer"][first:last]

    write(rows, lanes(), begin, end, folder)


def load(store: Path) -> tuple[dict, list[np.ndarray]]:
    """levels.json and the levels, of which only what is shown comes into memory. Raises what NumPy and json raise where they are missing or damaged."""
    folder = store / "levels"
    about = json.loads((folder / "levels.json").read_text())
    found = [np.load(folder / f"{number}.npy", mmap_mode="r") for number in range(len(list(folder.glob("*.npy"))))]
    if about["layers"] != list(LAYERS) or not found or any(len(level) != len(about["rows"]) for level in found):
        raise ValueError("levels of another version")
    return about, found


def make(run: Recording) -> None:
    """Beside the tables, at once whole: another viewer may do the same."""
    target = run.store / "levels"
    mine = run.store / f"levels.{os.getpid()}"
    try:
        write_of_store(run, mine)
        shutil.rmtree(target, ignore_errors=True)
        mine.rename(target)
    except OSError as error:
        shutil.rmtree(mine, ignore_errors=True)
        if not (target / "levels.json").exists():
            raise Refused(f"the picture of '{run.store}' is missing, and cannot be made there: {error.strerror}; copy the store to where you can write") from error

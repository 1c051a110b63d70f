"""The levels of a store: pictures of the whole time, a row for each thread and two bytes a bin, from which the viewer takes what it shows.

levels/0.npy is the finest; each next one has a quarter of the bins. The bytes: 1 + the layer that was innermost longest (0: none), and its
share of the bin in 255ths.
"""

import json
from pathlib import Path

import numpy as np

from damaris import kernel
from damaris.calls import Part
from damaris.kernel import LAYERS, Functions
from damaris.progress import progress

BINS = 16384  # of the finest level
MOST = 1 << 25  # bytes of the finest level
COARSEST = 256
STEP = 4


def shade(ns: np.ndarray, width: float) -> np.ndarray:
    """Two bytes a bin."""
    layer = ns.argmax(-1)
    longest = np.take_along_axis(ns, layer[..., None], -1)[..., 0]
    share = np.ceil(np.minimum(longest / width, 1.0) * 255)
    return np.stack([np.where(longest > 0, layer + 1, 0), share], -1).astype(np.uint8)


def write(parts: list[Part], functions: Functions, folder: Path) -> None:
    """levels.json: begin and end of the time in ns, the rows as [process, thread], and the layers."""
    rows = [(part, first, end) for part in parts for first, end in part.threads()]
    begin = min((int(part.calls["begin"][first]) + part.shift for part, first, _ in rows), default=0)
    end = max((int(part.calls["end"][first:last].max()) + part.shift for part, first, last in rows), default=0) + 1
    bins = BINS
    while bins > COARSEST and len(rows) * bins * 2 > MOST:
        bins //= STEP
    number = np.array([LAYERS.index(one) if one in LAYERS else len(LAYERS) for one in functions.layer], np.uint8)
    sizes = [bins // STEP**level for level in range(16) if bins // STEP**level >= COARSEST]
    levels = [np.zeros((len(rows), size, 2), np.uint8) for size in sizes]
    for at, (part, first, last) in enumerate(progress(rows, "paint")):
        calls = part.calls[first:last]
        width = (end - begin) / bins
        ns = kernel.paint(calls["begin"], calls["end"], number[calls["function"]], begin - part.shift, width, bins)
        for level in levels:
            level[at] = shade(ns, width)
            ns, width = ns.reshape(-1, STEP, len(LAYERS)).sum(1) if len(ns) >= STEP else ns, width * STEP
    folder.mkdir()
    for number_, level in enumerate(levels):
        np.save(folder / f"{number_}.npy", level)
    about = {"begin": begin, "end": end, "rows": [[part.process, int(part.calls["thread"][first])] for part, first, _ in rows], "layers": LAYERS}
    (folder / "levels.json").write_text(json.dumps(about) + "\n")

"""The same run in one file of both servers for each step: its views, its files as plain HDF5, and what damage to them looks like.

Uses check_views.py for the views, with the rain rounded to 8 m.
"""

import os
import pathlib
import random
import runpy
import subprocess
import sys

import h5py
import numpy

sys.path.insert(0, os.environ["DAMARIS_SOURCE_DIR"] + "/test/support")
from manifest_lines import logs_of, steps_of  # noqa: E402

os.environ.update(VIEWS_FILES="3", VIEWS_RAIN_ERROR="8")
runpy.run_path(str(pathlib.Path(__file__).with_name("check_views.py")))

STEPS = [pathlib.Path(f"views.i{step}.h5") for step in range(3)]
HEIGHT = numpy.fromfunction(lambda y, x: 100 * y + x, (2, 12))


def verified():
    done = subprocess.run(["damaris", "verify", "views"], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def flip_byte(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        [byte] = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 4]))


def place_of(path, name):
    """A byte of its values: contiguous, or compressed in a chunk."""
    with h5py.File(path) as file:
        dataset = file[name].id
        return dataset.get_offset() or dataset.get_chunk_info(0).byte_offset + dataset.get_chunk_info(0).size // 2


for step, path in enumerate(STEPS):
    with h5py.File(path) as file:
        assert file["surface/height"].chunks is None and file["surface/height"].dtype == numpy.float32
        numpy.testing.assert_array_equal(file["surface/height"], 1000 * step + HEIGHT)
        assert list(file["surface/height"].attrs["value_range"]) == [1000 * step, 1000 * step + 111], "of both servers' values"
        assert list(file.attrs["writers"]) == [0, 1] and list(file.attrs["clients"]) == [0, 1, 2, 3]
        assert ("rain" in file["surface"]) == (step != 1), "rain is due in every second step"
        if step != 1:
            rain = file["surface/rain"]
            error = abs(rain[...] - (1000 * step + HEIGHT)).max()
            assert rain.compression == "gzip" and 0 < error == rain.attrs["largest_error"] <= rain.attrs["error_bound"] == 8, error
    text = subprocess.run(["h5dump", "-y", "-d", "/surface/height", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert f"{1000 * step + 110}, {1000 * step + 111}" in " ".join(text.split()), text

LOGS = [path for _, _, _, path in logs_of(pathlib.Path("."), "views")]
stored = [(step["step"], dataset) for path in LOGS for step in steps_of(path) for file in step.get("files", []) for dataset in file["datasets"]]
rounded = [dataset["largest_error"] for _, dataset in stored if dataset["variable"] == "surface/rain"]
ranges = [(dataset["min"] - 1000 * step, dataset["max"] - 1000 * step) for step, dataset in stored
          if dataset["variable"] == "surface/height"]
assert sorted(ranges) == [(0, 105)] * 3 + [(6, 111)] * 3, ranges
assert len(rounded) == 4 and 0 < max(rounded) <= 8, rounded

assert verified()[0] == 0 and verified()[1].endswith(": all as recorded\nCOMPLETE: 3 steps, 0 to 2\n"), verified()
for path, name in ((STEPS[0], "surface/height"), (STEPS[2], "surface/rain"), (STEPS[1], "ids/3")):
    offset = place_of(path, name)
    flip_byte(path, offset)
    code, said = verified()
    assert code == 1 and f"{path}: /{name}: it" in said and said.endswith(": 1 damaged\nINCOMPLETE: 3 steps, 0 to 2; see above\n"), said
    flip_byte(path, offset)
draw = random.Random(5)
for path in [*STEPS, *map(pathlib.Path, ("views.h5", "views.xmf")), *LOGS]:  # values, attributes, structure, what nobody uses
    for offset in draw.sample(range(path.stat().st_size), 12):
        flip_byte(path, offset)
        assert verified()[0] == 1, f"{path}: nobody noticed byte {offset}"
        flip_byte(path, offset)
assert verified()[0] == 0

"""What all_types.f90 handed over is in the file: extents reversed, element (i, j) of Fortran at [j, i]."""

import glob

import h5py
import numpy

(name,) = glob.glob("all_types.*.h5")
file = h5py.File(name)
numbers = numpy.arange(1, 7).reshape(3, 2)


def same(dataset, expected, dtype):
    expected = numpy.asarray(expected, dtype)
    assert file[dataset].dtype == expected.dtype, f"{dataset}: type {file[dataset].dtype}"
    assert file[dataset].shape == expected.shape, f"{dataset}: shape {file[dataset].shape}"
    assert numpy.array_equal(file[dataset][...], expected), f"{dataset}: {file[dataset][...]}"


for kind in ("i8", "i16", "i32"):
    same(f"{kind}/5", numbers, kind.replace("i", "int"))
same("i64/5", numbers + 5000000000, "int64")
same("r32/5", numbers / 4, "float32")
same("r64/5", numbers / 3, "float64")
same("interior/5", [numbers, numbers], "float32")
same("blocks/5.1", numbers[:, ::-1], "int32")
same("block/5", [[11, 21], [12, 22], [13, 23]], "float64")
same("cells/5", [((1, 0.5), 10), ((3, 0.5), 30)], numpy.dtype({"names": ["centre", "level"], "formats": [("f8", (2,)), "i4"],
                                                               "offsets": [0, 16], "itemsize": 24}))
assert file["scalar/5"][...].ravel().tolist() == [2.5], file["scalar/5"][...]
letters = file["words/5"]
assert letters.shape == (3, 4), letters.shape
words = [bytes(row.tobytes()) for row in letters[...]]
assert words == [b"one ", b"two ", b"four"], words

"""The values of a dataset as the simulation meant them: decoded where h5py lacks the filter, and from 16 bits; and by how much they may differ.

Uses libzstd for the chunks of datasets with the filter zstd.
"""
import ctypes
import ctypes.util
import itertools

import numpy

ZSTD, SHUFFLE, SKIP_ALL = 32015, 2, 3


def unzstd(stream, size):
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size)
    got = library.ZSTD_decompress(out, ctypes.c_size_t(size), stream, ctypes.c_size_t(len(stream)))
    assert got == size, f"a chunk decompresses to {got} bytes instead of {size}"
    return out.raw


def chunk_values(dataset, start):
    mask, stream = dataset.id.read_direct_chunk(start)
    count, size = int(numpy.prod(dataset.chunks)), dataset.dtype.itemsize
    assert mask in (0, SKIP_ALL), mask
    if mask == 0:
        planes = numpy.frombuffer(unzstd(stream, count * size), numpy.uint8).reshape(size, count)
        stream = planes.T.tobytes()
    return numpy.frombuffer(stream, dataset.dtype).reshape(dataset.chunks)


def has_zstd(dataset):
    made = dataset.id.get_create_plist()
    return any(made.get_filter(i)[0] == ZSTD for i in range(made.get_nfilters()))


def in_file(dataset):
    """In the file's type."""
    if not has_zstd(dataset):
        return dataset[()]
    values = numpy.full(dataset.shape, dataset.fillvalue, dataset.dtype)
    stored = {dataset.id.get_chunk_info(i).chunk_offset for i in range(dataset.id.get_num_chunks())}
    for start in itertools.product(*(range(0, extent, chunk) for extent, chunk in zip(dataset.shape, dataset.chunks))):
        if start not in stored:
            continue
        place = tuple(slice(low, min(low + chunk, extent)) for low, chunk, extent in zip(start, dataset.chunks, dataset.shape))
        values[place] = chunk_values(dataset, start)[tuple(slice(0, p.stop - p.start) for p in place)]
    return values


def meant(dataset, dtype):
    """In the simulation's type."""
    values = in_file(dataset)
    if "scale_factor" not in dataset.attrs:
        return values
    assert values.dtype == numpy.float16, values.dtype
    return (values.astype(numpy.float64) * dataset.attrs["scale_factor"] + dataset.attrs["add_offset"]).astype(dtype)


def same(dataset, stored, wanted):
    """Whether the values are those, byte by byte or, where they are rounded, within the error that the dataset names."""
    if stored.dtype != wanted.dtype or stored.shape != wanted.shape:
        return False
    if "largest_error" not in dataset.attrs and "largest_relative_error" not in dataset.attrs:
        return numpy.ascontiguousarray(stored).tobytes() == numpy.ascontiguousarray(wanted).tobytes()
    error = abs(stored.astype(numpy.float64) - wanted.astype(numpy.float64))
    if "largest_relative_error" in dataset.attrs:
        return bool((error <= dataset.attrs["largest_relative_error"] * abs(wanted) * (1 + 1e-12)).all())
    ulp = numpy.spacing(abs(wanted)).astype(numpy.float64)  # of the conversion back
    return bool((error <= dataset.attrs["largest_error"] * (1 + 1e-12) + ulp).all())


def check_index(path, dataset, wanted, given):
    """The ranges of all chunks, of what was written there."""
    if "index_extents" not in dataset.attrs:
        return
    extents, low, high = (dataset.attrs[f"index_{what}"] for what in ("extents", "min", "max"))
    starts = itertools.product(*(range(0, extent, step) for extent, step in zip(wanted.shape, extents)))
    for i, start in enumerate(starts):
        place = tuple(slice(at, at + step) for at, step in zip(start, extents))
        values = wanted[place][given[place]]
        finite = values[numpy.isfinite(values)] if values.dtype.kind == "f" else values
        if finite.size == 0:
            assert numpy.isnan(low[i]) and numpy.isnan(high[i]), f"{path}: a range of nothing"
        else:
            assert (low[i], high[i]) == (finite.min(), finite.max()), f"{path}: the range of brick {i} is wrong"

"""How the domain is cut changes nothing: every variable is the same to the last bit."""

import h5py
import pytest
from read_cm1 import files_of, read_output, same_bits
from small_storm import SMALL_STORM, attempt, hears_last_words, run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    run(folder, 1, SMALL_STORM)
    return read_output(folder, "fpp", 2)


@pytest.mark.parametrize("ranks, cut", [(2, {}), (4, {}), (4, dict(nodex=4, nodey=1)), (3, dict(nodex=1, nodey=3))])
def test_ranks_and_tilings_agree_bitwise(whole, tmp_path, ranks, cut):
    run(tmp_path, ranks, dict(SMALL_STORM, **cut))
    parts = read_output(tmp_path, "fpp", 2)
    assert parts.keys() == whole.keys() and len(parts) >= 15
    for name, array in whole.items():
        assert same_bits(array, parts[name]), name


def test_the_work_multiplier_costs_time_and_changes_nothing(whole, tmp_path):
    run(tmp_path, 2, dict(SMALL_STORM, work=2))
    assert all(same_bits(array, read_output(tmp_path, "fpp", 2)[name]) for name, array in whole.items())


@pytest.mark.parametrize("ranks, nodes", [(4, (2,)), (6, (2,)), (6, (3,)), (5, (2, 3)), (6, (2, 4)), (8, (4,))])
def test_the_tiles_of_a_node_form_one_rectangle(tmp_path, ranks, nodes):
    run(tmp_path, ranks, dict(SMALL_STORM, timax=0.0, ppnode=nodes))
    boxes = [tile_box(path) for path in files_of(tmp_path, "fpp", 1)]
    assert len(boxes) == ranks
    first = 0
    for n in range(ranks):
        size = nodes[min(n, len(nodes) - 1)]
        node = boxes[first:first + size]
        if not node:
            break
        assert sum(area(box) for box in node) == area(bounding(node)), node
        first += size


def tile_box(path):
    with h5py.File(path) as h5file:
        dataset = h5file["fields/thpert"]
        _, y, x = dataset.attrs["position"]
        _, rows, columns = dataset.shape
    return x, y, x + columns, y + rows


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def bounding(boxes):
    low = [min(box[n] for box in boxes) for n in (0, 1)]
    return low + [max(box[n] for box in boxes) for n in (2, 3)]


@hears_last_words
def test_a_tile_narrower_than_the_halo_is_refused(tmp_path):
    done = attempt(tmp_path, 4, dict(SMALL_STORM, nx=8, nodex=4, nodey=1))
    assert done.returncode != 0
    assert "narrower than the halo" in done.output

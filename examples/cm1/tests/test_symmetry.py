"""A bubble in calm air stays symmetric to the last bit: no direction of x and y is preferred."""

import numpy as np
import pytest
from read_cm1 import read_output
from small_storm import run


@pytest.fixture(scope="module", params=["dry", "moist"])
def bubble(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    moist = int(request.param == "moist")
    run(folder, 2, dict(nx=26, ny=26, nz=24, dtl=6.0, timax=900.0, tapfrq=900.0, imoist=moist, iwnd=0, zd=9000.0))
    fields = {name.split("/")[1]: array for name, array in read_output(folder, "fpp", 2).items()}
    assert fields["w"].max() > (2.0 if moist else 0.2), "the bubble has not moved"
    return fields


@pytest.mark.parametrize("axis, odd", [(2, "u"), (1, "v")])
def test_mirror_images_differ_by_nothing(bubble, axis, odd):
    for name in ("u", "v", "w", "thpert", "pipert", "qv", "qc", "qr", "tracer"):
        sign = -1.0 if name == odd else 1.0
        assert np.abs(bubble[name] - sign * np.flip(bubble[name], axis)).max() == 0.0, name


def test_exchanging_x_and_y_changes_nothing(bubble):
    pairs = [(name, name) for name in ("w", "thpert", "pipert", "qv", "qc", "qr", "tracer")] + [("u", "v")]
    for name, partner in pairs:
        assert np.abs(bubble[name] - bubble[partner].transpose(0, 2, 1)).max() == 0.0, name

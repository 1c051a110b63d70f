"""A browser that all tests of a file share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from browser import Browser, why_none


@pytest.fixture(scope="session")
def browser():
    if why := why_none():
        pytest.skip(f"SKIP: {why}")
    window = Browser()
    yield window
    window.close()

"""Recordings of what programs do to storage, as tables: `damaris.open("run").calls` is a DuckDB relation."""

import sys

if sys.version_info < (3, 11):  # before anything that an older one cannot read
    raise ImportError("damaris needs Python 3.11 or newer; name one in DAMARIS_PYTHON for the verbs")

from damaris.errors import Refused
from damaris.store import Recording, open

__all__ = ["Recording", "Refused", "open"]

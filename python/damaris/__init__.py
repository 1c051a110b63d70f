"""Recordings of what programs do to storage, as tables: `damaris.open("run").calls` is a DuckDB relation."""

from damaris.errors import Refused
from damaris.store import Recording, open

__all__ = ["Recording", "Refused", "open"]

"""What the files of a run are written to: --storage of bench phases.

Used by: arguments.py, run_phases.py and what tells of a report. Before it: words of the command line. After it: what they change in a run.
"""

import argparse
from dataclasses import dataclass

from slow_storage import rate_of

TEXTS = {"cache": "the file ways end when HDF5 has closed the file, which may still be in the page cache",
         "disk": "the file ways end when their files are closed and synced"}
RATE_TEXT = "all processes together hand over {} at most: who writes waits for its turn, without processor time"


@dataclass(frozen=True)
class Storage:
    """name: as in the JSON and the rows. sync: the file ways sync. rate: bytes per second of all processes; 0: as fast as it is."""

    name: str
    sync: bool = False
    rate: int = 0


def storages(text):
    """Of "cache,disk,100MB", in this order and each once."""
    return list(dict.fromkeys(storage_of(word) for word in text.split(",")))


def storage_of(word):
    if word in TEXTS:
        return Storage(word, sync=word == "disk")
    rate = rate_of(word)
    if not rate:
        raise argparse.ArgumentTypeError(f"'{word}': cache, disk, or bytes per second such as 100MB")
    return Storage(rate_name(rate), rate=rate)


def rate_name(rate):
    factor, unit = next((factor, unit) for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B")) if rate >= factor)
    return f"{rate / factor:g}{unit}/s"


def storage_text(name):
    return TEXTS.get(name) or RATE_TEXT.format(name)


def names_of(details):
    """The storages of a report, in its order."""
    return list(dict.fromkeys(detail["storage"] for detail in details))


def of_storage(details, name):
    return [detail for detail in details if detail["storage"] == name]

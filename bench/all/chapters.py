"""A chapter of the page for each part: what it measures, its pictures, or why there are none.

Used by: whole_page.py. Before it: results. After it: chapters of the page.
"""

import cores_pictures
import pictures
from compression_picture import add_compression
from node_pictures import add_persist, add_queue, add_slots
from parts import told
from reduce_picture import add_reduce
from results import again_text, bad
from shown import time_text
from write_pictures import add_write

WRITE = """A client on one core hands blocks of 8 B to 256 MiB to a server on another, and copies the same bytes by memcpy into shared
memory that was made and touched in the same way; in an order drawn anew in each round, from and to 256 MiB gone through in a circle. Then
the same against what one would put together from boost's managed_shared_memory and message_queue, and while the server writes or
compresses."""
QUEUE = """A message of 64 bytes from 1 to 3 producers on one core to a consumer on another, through our lanes and through message_queue
of the same capacity."""
PERSIST = """The same values from shared memory into a new file: by pwrite, as an HDF5 file with attributes, checksums and index, and both
until they are on the disk; large datasets, and blocks of 4 KiB."""
REDUCE = """Fields are written in chunks, by HDF5 with shuffle and deflate 1, and by our encoder whose result any HDF5 reads; by processor
time of one core. What was written is read back and compared before anything is measured."""
SLOTS = """The target takes 400 MB/s and loses 0.2 ms whenever another server writes. Without turns all write at once; with slots each has
a part of the interval; coordinated, one writes at a time."""
COMPRESSION = """The CM1 mini-app with one computing rank and one dedicated core, each on a core of its own, goes on from a storm of 40
minutes; a pair is a run with compression and one without, in an order drawn anew."""

# What draws a chapter, and the text above it: of the report where it tells of settings.
CHAPTERS = {
    "write": ("a dc_write against the memcpy it cannot do without", add_write, WRITE),
    "queue": ("an event against a message of boost message_queue", add_queue, QUEUE),
    "persist": ("what storing costs beyond writing the bytes", add_persist, PERSIST),
    "reduce": ("compression on a dedicated core against HDF5's filters", add_reduce, REDUCE),
    "slots": ("four servers on a storage with one bottleneck", add_slots, SLOTS),
    "phases": ("how long a simulation waits, a core for each rank", pictures.add_sections, pictures.introduction),
    "phases-shared": ("the same with more ranks, which share cores where there are fewer", pictures.add_sections, pictures.introduction),
    "cm1": ("does a dedicated core pay?", cores_pictures.add_sections, cores_pictures.introduction),
    "cm1-parts": ("the same with four cores: parts of these", cores_pictures.add_sections, cores_pictures.introduction),
    "compression": ("does the simulation notice that its dedicated core compresses?", add_compression, COMPRESSION),
}


def add_chapters(page, results, folder):
    for name, (title, add, text) in CHAPTERS.items():
        result = results[name]
        try:
            page.chapter(f"{name}: {title}", f"{text_of(text, result)}\n\n{how(result)}")
            if result.report:
                add(page, result.report)
        except (KeyError, TypeError, ValueError, IndexError) as failure:
            raise bad(folder / f"{name}.json", f"its details are not as this version draws them ({failure!r})") from failure


def text_of(text, result):
    if isinstance(text, str):
        return text
    return text(result.report) if result.report else ""


def how(result):
    if not result.report:
        return f"{result.absent.capitalize()}: {result.why}."
    took = f" It took {time_text(result.record['seconds'])}." if "seconds" in result.record else ""
    again = again_text(result)
    return f"By itself: {told(result.part)}.{took}{f' It was {again}.' if again else ''}"

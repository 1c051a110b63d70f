"""The log of 07_append: each stream has the bounces of its particles, in order, also as `damaris stream-log` writes them."""

import subprocess

import numpy

from damaris import stream_log

EVENT = numpy.dtype([("particle", "i4"), ("wall", "i4"), ("time", "f8")])


def bounces():
    place, speed = (numpy.arange(100) + 0.5) / 100, 0.01 + 0.0001 * numpy.arange(100)
    for step in range(200):
        place += speed
        for i in numpy.flatnonzero((place < 0) | (place > 1)):
            yield i, place[i] > 1, step
            speed[i] = -speed[i]


expected = numpy.array(list(bounces()), EVENT)
log = stream_log.open("append", "events")
assert sorted(log.streams) == [0, 1], log.streams
assert not log.holes and log.ended
for stream in (0, 1):
    assert numpy.array_equal(numpy.frombuffer(log.read(stream), EVENT), expected)
    written = subprocess.run(["damaris", "stream-log", "append", "--stream", str(stream)], check=True, capture_output=True).stdout
    assert written == log.read(stream)
said = subprocess.run(["damaris", "stream-log", "append", "--list"], check=True, capture_output=True, text=True).stdout
assert "2 streams in 1 files, ended" in said, said

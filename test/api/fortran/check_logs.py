"""What logs.f90 appended: 12 numbers in memory order, the section (2:4:2, 3:1:-2) of them, and a text."""

import numpy

from damaris import stream_log

data = stream_log.open("logs", "events").read(0)
assert numpy.frombuffer(data[:48], "i4").tolist() == list(range(1, 13))
assert numpy.frombuffer(data[48:64], "i4").tolist() == [10, 12, 2, 4]
assert data[64:] == b"text", data[64:]

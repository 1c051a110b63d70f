"""The one exception of the guard: something could not be measured, or read. Its text is what a user should read.

Used by: all of the guard; guard.py catches it. Before it: a cause. After it: one sentence on standard error.
"""


class Failure(Exception):
    pass

"""What bench all says while it runs: which part of how many, how long it takes, how long the rest takes.

Used by: campaign.py, by way of bench_all.py. Before it: parts that begin and end. After it: lines, on a terminal a live one between them.
"""

import time

from parts import seconds_of
from running import FAILED, LEFT_OUT, tail

LOG_LINES = 10


class Shown:
    def __init__(self, console, folder, quick):
        self.console, self.folder, self.quick = console, folder, quick

    def part(self, part, number, total, later):
        """later: expected seconds of the parts after this one."""
        return ShownPart(self, part, f"{number} of {total}: {part.name}", later)

    def say(self, text=""):
        self.console.print(text, markup=False, soft_wrap=True)


class ShownPart:
    def __init__(self, shown, part, label, later):
        self.shown, self.part, self.label, self.later = shown, part, label, later
        self.begin, self.expected = time.monotonic(), seconds_of(part, shown.quick)
        self.status = shown.console.status("") if shown.console.is_terminal else None

    def __enter__(self):
        if self.status:
            self.status.start()
        else:
            self.shown.say(f"{self.label}, about {time_text(self.expected)}; the rest after it about {time_text(self.later)}")
        return self

    def __exit__(self, *_):
        if self.status:  # also when interrupted: it has hidden the cursor
            self.status.stop()

    def tick(self):
        if not self.status:
            return
        elapsed = time.monotonic() - self.begin
        rest = max(self.expected - elapsed, 0) + self.later
        self.status.update(f"{self.label}, {time_text(elapsed)} of about {time_text(self.expected)}; in all about {time_text(rest)} left")

    def end(self, ended, seconds):
        if self.status:
            self.status.stop()
        self.shown.say(f"{self.label}: {ended.how.upper() if ended.how == FAILED else ended.how}"
                       f"{f': {ended.why}' if ended.how == LEFT_OUT else f' in {time_text(seconds)}'}")
        if ended.how == FAILED:
            log = self.shown.folder / f"{self.part.name}.log"
            self.shown.say(f"  {ended.why}\n  the end of {log}:")
            for line in tail(log, LOG_LINES):
                self.shown.say(f"  | {line}")


def time_text(seconds):
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02} min" if whole >= 60 else f"{whole} s"

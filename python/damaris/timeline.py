"""What the viewer shows of a recording: rasters of any window, and what lies under it."""

import base64
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from damaris import kernel, levels
from damaris.call_files import CallFiles
from damaris.errors import Refused
from damaris.kernel import LAYERS
from damaris.lanes import Lanes
from damaris.pictures import LAYERS as COLORS
from damaris.store import Recording

MOST_LINES = 2000  # messages and collective calls in a picture
MOST_SEARCHED = 5_000_000  # calls of a recording whose findings are looked for unasked: some 10 s
MOST_MEMBERS = 20_000  # of collective calls in a picture, if they were even over time: to find those of more would take seconds
MOST_PAINTED = 10_000_000  # calls of a picture: of more at one time, a finer one would take gigabytes
MOST_PIXELS = 1 << 23
MOST_ROWS = 1000  # of an answer
MOST_DRAWN = 20_000  # rows of an answer with a picture: a picture has few bars, each of a few rows
EXACT = 2**53  # larger integers are not exact in a browser
FINE = 3  # pixels: bins wider than that are painted from the calls
SQL = re.compile(r"\s*(select|with|from|describe|show|summarize)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Window:
    """Times in ns from the begin of the recording, rows from `first` up to, without, `last`."""

    begin: float
    end: float
    first: int
    last: int


class Timeline:
    """Its methods may be called by several threads: each uses a connection of its own."""

    def __init__(self, run: Recording):
        self.run = run
        self.asked: set = set()
        try:
            about, self.levels = levels.load(run.store)
        except (OSError, ValueError, KeyError, TypeError, EOFError):
            levels.make(run)
            about, self.levels = levels.load(run.store)
        self.begin, self.end, rows = about["begin"], about["end"], about["rows"]
        self.lanes = Lanes(run)
        self.order = sorted(range(len(rows)), key=lambda at: (self.lanes.place[rows[at][0]], rows[at]))  # rows of the levels, as they are shown
        self.threads = [tuple(rows[at]) for at in self.order]  # process and thread of each row
        self.row = {thread: row for row, thread in enumerate(self.threads)}

    @cached_property
    def files(self) -> CallFiles:
        return CallFiles(self.run.store)

    @contextmanager
    def asking(self):
        """A connection of its own, which `stop` interrupts."""
        cursor = self.run.database.cursor()
        self.asked.add(cursor)
        try:
            yield cursor
        finally:
            self.asked.discard(cursor)

    def stop(self) -> None:
        """Ends the questions that are being answered."""
        for cursor in list(self.asked):
            cursor.interrupt()

    def rows_of(self, sql: str) -> list[tuple]:
        with self.asking() as cursor:
            return cursor.execute(sql).fetchall()

    def about(self) -> dict:
        """What a page needs first. Labels are ranks, or pids."""
        many = {process for process, thread in self.threads if thread}

        def label(process, thread):
            return self.lanes.name(process) + (f" thread {thread}" if process in many else "")

        losses = [why + (f", {calls:,} calls" if calls else "") for why, calls in self.rows_of("select why, sum(calls) from losses group by why")]
        losses += self.clocks()
        lost = self.rows_of(f'select "begin" - {self.begin}, "end" - {self.begin}, process, thread from gaps order by 1')
        return {
            "lost": [[begin, end, self.row[process, thread]] for begin, end, process, thread in lost if (process, thread) in self.row],
            "calls": self.run.about["calls"], "searched": MOST_SEARCHED, "duration": self.end - self.begin, "begin": self.begin, "rows": [label(*one) for one in self.threads], "layers": list(LAYERS),
            "pixels": MOST_PIXELS, "colors": [COLORS[layer] for layer in LAYERS], "losses": losses, "program": self.program(),
            "killed": [self.row[process, thread] for process, thread in self.threads if self.lanes.is_killed(process)],
        }  # fmt: skip

    def clocks(self) -> list[str]:
        """What is known of their errors: a message cannot have come before it was sent."""
        if len(self.lanes.hosts) < 2:
            return []
        [(least,)] = self.rows_of("select coalesce(min(received - sent), 0) from messages")
        far = "how far these differ is not known" if least >= 0 else f"which differ by at least {-least / 1e6:,.3g} ms: a message came before it was sent"
        return [f"times are by the clocks of {len(self.lanes.hosts)} hosts, {far}"]

    def program(self) -> str:
        from damaris.verbs.info import command

        return command(self.run.store.parent)

    def raster(self, window: Window, width: int) -> bytes:
        """Two bytes a pixel, see damaris.levels, row by row."""
        first, last = max(window.first, 0), min(window.last, len(self.threads))
        pixel = (window.end - window.begin) / width
        finest = (self.end - self.begin) / self.levels[0].shape[1]
        if finest > FINE * pixel:
            picture = self.painted(window, first, last, width)
            return (self.sampled(self.levels[0], window, first, last, width) if picture is None else picture).tobytes()
        fitting = [level for level in self.levels if (self.end - self.begin) / level.shape[1] <= pixel] or self.levels[:1]
        return self.sampled(fitting[-1], window, first, last, width).tobytes()

    def sampled(self, level: np.ndarray, window: Window, first: int, last: int, width: int) -> np.ndarray:
        """Of the bins in a pixel the one with most in it."""
        bins, duration = level.shape[1], self.end - self.begin
        edges = (window.begin + (window.end - window.begin) * np.arange(width + 1) / width) / duration * bins
        rows = np.asarray(level[self.order[first:last]])
        best = np.zeros((len(rows), width, 2), np.uint8)
        start, count = np.floor(edges[:-1]).astype(np.int64), int(np.ceil(np.diff(edges).max(initial=1)))
        for step in range(count):
            at = start + step
            inside = (at >= 0) & (at < bins) & ((at < edges[1:]) | (step == 0))
            found = rows[:, np.clip(at, 0, bins - 1)]
            better = inside[None, :] & (found[..., 1] > best[..., 1])
            best[better] = found[better]
        return best

    def painted(self, window: Window, first: int, last: int, width: int) -> np.ndarray | None:
        """None: there are too many calls."""
        result = np.zeros((max(last - first, 0), width, 2), np.uint8)
        processes = sorted({process for process, _ in self.threads[first:last]})
        if not processes:
            return result
        begin, end = self.begin + int(window.begin), self.begin + int(np.ceil(window.end))
        if self.files.count(begin, end, processes[0], processes[-1]) > MOST_PAINTED:
            return None
        calls = self.files.read(begin, end, processes[0], processes[-1])
        edges = np.flatnonzero(np.diff(calls.key, prepend=-1, append=-1)) if len(calls.key) else []
        pixel = (window.end - window.begin) / width
        for at, until in zip(edges[:-1], edges[1:], strict=True):
            row = self.row[int(calls.key[at]) >> 32, int(calls.key[at]) & 0xFFFFFFFF]
            if first <= row < last:
                ns = kernel.paint(calls.begin[at:until], calls.end[at:until], calls.layer[at:until], begin, pixel, width)
                result[row - first] = kernel.shade(ns, pixel)
        return result

    def stack(self, row: int, time: float, slack: float = 0) -> list[dict]:
        """The calls of a row at a time, or within `slack` ns of it, the outermost first."""
        if not 0 <= row < len(self.threads):
            return []
        process, thread = self.threads[row]
        at = self.begin + int(time)
        rows = self.rows_of(f"""
            select c.layer, c.function, c."begin" - {self.begin}, c."end" - c."begin", o.name, c.bytes, c."offset", c.peer, c.tag, c.error, c.kind
            from {self.files.table(at - int(slack), at + int(slack) + 1, process, process)} c left join objects o on o.id = c.object
            where c.process = {process} and c.thread = {thread}
            and c."begin" <= {at + int(slack)} and c."end" >= {at - int(slack)} order by c."begin", c.depth limit 30""")
        names = ("layer", "function", "begin", "ns", "object", "bytes", "offset", "peer", "tag", "error", "kind")
        return [dict(zip(names, one, strict=True)) for one in rows]

    @cached_property
    def row_of_process(self) -> dict[int, int]:
        """The first of its threads."""
        return {process: row for row, (process, _) in reversed(list(enumerate(self.threads)))}

    @cached_property
    def members(self) -> int:
        """Of all collective calls."""
        return self.rows_of("select count(*) from collectives")[0][0]

    def lines(self, window: Window, most: int = MOST_LINES) -> dict:
        """Messages as [begin, row, end, row], collective calls as [[begin, row], ...] each; both are empty if there are too many to see."""
        begin, end = self.begin + int(window.begin), self.begin + int(window.end)
        share = (window.end - window.begin) / (self.end - self.begin)
        messages = self.rows_of(f"""select sent - {self.begin}, source, received - {self.begin}, target from messages
            where sent < {end} and received > {begin} limit {most + 1}""")
        met = self.rows_of(f"""select instance, list([c."begin" - {self.begin}, c.process, c.thread]) from collectives join {self.files.table(begin, end)} c on c.id = call
            where c."begin" < {end} and c."end" > {begin} group by instance limit {most + 1}""") if self.members * share <= MOST_MEMBERS else []
        row = self.row_of_process
        shown = [[sent, row[source], received, row[target]] for sent, source, received, target in messages]
        return {
            "messages": shown if len(messages) <= most else [],
            "collectives": [sorted(([time, self.row[process, thread]] for time, process, thread in members), key=lambda one: one[1]) for _, members in met] if len(met) <= most else [],
        }

    def statistics(self, window: Window) -> dict:
        """What the calls of a window are: by layer and function, the time inside the window."""
        begin, end = self.begin + int(window.begin), self.begin + int(window.end)
        shown = ", ".join(f"({process}, {thread})" for process, thread in self.threads[window.first : window.last])
        with self.asking() as cursor:
            return answer(cursor, f"""select layer, function, count(*) as calls, sum(bytes)::bigint as bytes,
            round(sum(least("end", {end}) - greatest("begin", {begin})) / 1e9, 6) as seconds from {self.files.table(begin, end)}
            where "begin" < {end} and "end" > {begin} and (process, thread) in ({shown or '(-1, -1)'}) and top group by all order by seconds desc""")

    def ask(self, words: str) -> dict:
        """A question of IOPro with its picture, or SQL."""
        with self.asking() as cursor:
            return self.ask_by(cursor, words)

    def ask_by(self, cursor, words: str) -> dict:
        """The same, by a connection that its caller can interrupt."""
        import duckdb

        try:
            if SQL.match(words):
                return answer(cursor, words)
            from damaris.grammar import parse
            from damaris.latency import Answers

            question = parse(words)
            found = Answers(cursor).ask(question)
            columns, rows = found.columns, found.limit(MOST_DRAWN + 1).fetchall()
        except (duckdb.Error, Refused) as error:
            return {"error": str(error)}
        shown = [[plain(value) for value in row] for row in rows[:MOST_ROWS]]
        picture = picture_of(question, [dict(zip(columns, row, strict=True)) for row in rows]) if len(rows) <= MOST_DRAWN else None
        return {"columns": columns, "rows": shown, "more": len(rows) > MOST_ROWS, "picture": picture}

    def findings(self) -> list[dict]:
        from damaris.findings import Facts, find

        own = Recording(self.run.store)  # it makes tables in its connection, while others ask
        self.asked.add(own.database)
        try:
            found, rows = find(Facts(own)), self.row_of_process
        finally:
            self.asked.discard(own.database)
        return [{**one.as_dict(), **self.when(one.query), "rows": sorted({rows[rank] for rank in one.ranks if rank in rows})} for one in found]

    def when(self, sql: str) -> dict:
        """The time of the calls that a finding's question gives; empty if it gives no calls."""
        import duckdb

        try:
            [(begin, end)] = self.rows_of(f'select min("begin") - {self.begin}, max("end") - {self.begin} from ({sql})')
        except duckdb.Error:
            return {}
        return {} if begin is None else {"begin": begin, "end": end}


def answer(cursor, sql: str) -> dict:
    found = cursor.execute(sql)
    rows = found.fetchmany(MOST_ROWS + 1)
    columns = [column[0] for column in found.description]
    return {"columns": columns, "rows": [[plain(value) for value in row] for row in rows[:MOST_ROWS]], "more": len(rows) > MOST_ROWS}


def plain(value):
    """What JSON can hold, and a browser reads without rounding."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else float(value) if np.isfinite(value) else str(value)
    return int(value) if isinstance(value, int | np.integer) and abs(value) <= EXACT else str(value)


def picture_of(question, rows: list[dict]) -> str | None:
    """The source of an image; None for an answer that is none."""
    from damaris.pictures import draw

    with TemporaryDirectory() as folder:
        path = Path(folder) / "answer.png"
        try:
            draw(question, rows, path)
        except Refused:
            return None
        return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()

"""How the verbs print: sizes, ranges of ranks, paths in 80 columns, tables."""

import os
import sys
from collections.abc import Iterable
from pathlib import PurePosixPath


def size(count: float | None) -> str:
    count = float(count or 0)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1023.95 or unit == "TiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def number(value: float) -> str:
    """With four digits that count; seconds as small as nanoseconds are read too."""
    return f"{value:.4g}" if value and abs(value) < 0.001 or abs(value) >= 1e9 else f"{value:,.6f}".rstrip("0").rstrip(".") if abs(value) < 1 else f"{value:,.3f}"


def seconds(value: float) -> str:
    """For a column of them."""
    return f"{value:,.1f}" if value >= 100 else f"{value:.4f}" if value >= 0.00005 or not value else "< 0.0001"


def share(part: float, whole: float) -> str:
    percent = 100 * part / whole if whole else 0
    return "less than 0.1 %" if 0 < percent < 0.05 else f"{percent:.1f} %"


def many(count: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def ranges(numbers: Iterable[int]) -> str:
    """Of 0 1 2 5: 0-2,5."""
    found: list[list[int]] = []
    for one in sorted(set(numbers)):
        if found and found[-1][1] == one - 1:
            found[-1][1] = one
        else:
            found.append([one, one])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def shortened(text: str, room: int) -> str:
    """With ... for its middle, if it needs more room."""
    if len(text) <= room:
        return text
    behind = (room - 3) * 2 // 3
    return text[: room - 3 - behind] + "..." + text[len(text) - behind :]


def shared_folder(paths: Iterable[str]) -> str:
    """The folder that all are in; "" if that is the root or nothing."""
    folders = [str(PurePosixPath(path).parent) for path in paths]
    if not folders or not all(one.startswith("/") for one in folders):
        return ""
    found = os.path.commonpath(folders)
    return "" if found == "/" else found


def within(path: str, folder: str) -> str:
    return path.removeprefix(folder + "/") if folder else path


def console(width: int = 0):
    from rich.console import Console

    # A terminal's own width; what goes elsewhere has 80 columns.
    out = Console(width=None if sys.stdout.isatty() else 80, highlight=False, markup=False, emoji=False)
    out.width = max(out.width, width)
    return out


def show(heads: list[str], rows: list[list[str]], left: tuple[str, ...] = (), shrink: str | None = None, whole: bool = False) -> None:
    """A table; columns of `left` are aligned there, the others to the right. The text of `shrink` is shortened so that it fits. Empty columns are
    left out, unless it is `whole`: then it is as wide as it must be."""
    from rich import box
    from rich.table import Table

    used = [i for i in range(len(heads)) if whole or not rows or any(row[i] for row in rows)]
    heads, rows = [heads[i] for i in used], [[row[i] for i in used] for row in rows]
    widths = [max(len(row[i]) for row in [heads, *rows]) + 2 for i in range(len(heads))]
    out = console(sum(widths) if whole else 0)
    if shrink:
        which = heads.index(shrink)
        room = max(out.width - sum(widths) + widths[which] - 2, 14)
        rows = [[shortened(text, room) if i == which else text for i, text in enumerate(row)] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in heads:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    out.print(table)

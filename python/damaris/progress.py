"""A progress bar on a terminal, and nothing elsewhere."""

import sys


def progress(items, what):
    if not sys.stderr.isatty() or len(items) < 2:
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, f"{what}:", console=Console(stderr=True), transient=True)

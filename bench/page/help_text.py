"""How the help of the benchmarks is laid out: in 80 columns, paragraphs filled, indented lines as they are.

Used by: whoever has options. Before it: a docstring, examples. After it: argparse. Needs nothing but Python, so that the help needs no setup.
"""

import argparse
import shutil
import textwrap
from itertools import groupby


class HelpText(argparse.HelpFormatter):
    """For formatter_class of argparse.ArgumentParser."""

    def __init__(self, prog):
        super().__init__(prog, width=min(80, shutil.get_terminal_size().columns))

    def _fill_text(self, text, width, indent):
        lines = []
        for kept, group in groupby(text.strip("\n").splitlines(), lambda line: not line or line.startswith(" ")):
            lines += group if kept else textwrap.wrap(" ".join(group), width, break_on_hyphens=False)
        return "\n".join(lines)

"""The verbs of `damaris` that are written in Python, a module each with `main(parser, words)`: `python -m damaris.verbs VERB ARGUMENTS`."""

import argparse
import importlib
import os
import shlex
import sys


def run(verb: str, words: list[str]) -> None:
    try:
        importlib.import_module(f"damaris.verbs.{verb}").main(argparse.ArgumentParser(f"damaris {verb}"), words)
        sys.stdout.flush()
    except ModuleNotFoundError as missing:
        needed = dict.fromkeys(["numpy", "pyarrow", "duckdb", "rich", missing.name or ""])
        pip = f"{shlex.quote(sys.executable)} -m pip install {' '.join(needed)}"
        sys.exit(f"damaris {verb}: the Python module '{missing.name}' is missing; install it with: {pip}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's last flush finds no fault
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if type(error).__module__.split(".")[0] in ("duckdb", "_duckdb"):  # not imported, so that a verb can say that it is missing
            sys.exit(f"damaris {verb}: the recording's tables cannot be read: {str(error).splitlines()[0]}; make them anew with 'damaris unify RUN'")
        if type(error).__name__ != "Refused":
            raise
        sys.exit(f"damaris {verb}: {error}")


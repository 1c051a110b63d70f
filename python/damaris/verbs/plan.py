"""`damaris plan RUN`: what the program does, for `damaris replay`."""

import sys
from argparse import ArgumentParser
from pathlib import Path


def main(parser: ArgumentParser, words: list[str]) -> None:
    parser.description = "Writes a recording as a plan: text, one operation a line, which damaris replay does again elsewhere."
    parser.add_argument("run", metavar="RUN", help="the folder of damaris record -o")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: standard output)")
    parser.add_argument("--layer", choices=["posix", "mpiio"], default="posix", help="posix: what reaches files (default); mpiio: what the program asked of MPI")
    parser.add_argument("--prune", action="store_true", help="leave out synchronisation that cannot pass on a delay of I/O")
    given = parser.parse_args(words)
    import damaris
    from damaris.errors import Refused
    from damaris.planning import plan_of
    from damaris.prune import prune
    from damaris.verbs import text

    plan = plan_of(damaris.open(given.run), given.layer)
    if given.prune:
        prune(plan)
    try:
        if given.output:
            with Path(given.output).open("w") as file:
                plan.write(file)
        else:
            plan.write(sys.stdout)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Refused(f"cannot write '{given.output}': {error.strerror}; name another file with -o") from error
    if given.output:
        io = sum(op.kind in "wr" for process in plan.processes for op in process.ops)
        print(f"{given.output}: {text.many(len(plan.processes), 'process')}, {text.many(len(plan.files), 'file')}, {text.many(io, 'read or write') if io == 1 else f'{io:,} reads and writes'}, "
              f"{sum(len(process.ops) for process in plan.processes):,} operations, recorded {plan.recorded / 1e9:.3f} s")  # fmt: skip

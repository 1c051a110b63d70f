"""Starts the mini-app: writes its namelist and runs it under MPI. Used by the demo and by the tests.

The build says where things are: CM1_PROGRAM, DAMARIS_SOURCE_DIR, DAMARIS_MPI_FLAVOUR.
"""

import contextlib
import os
import queue
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from sessions import end_session

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
END_S = 5

GROUPS = {
    "param0": "nx ny nz nodex nodey ppnode",
    "param1": "dx dy dz dtl timax tapfrq rstfrq statfrq",
    "param2": "irst rstnum imoist ptype iwnd iinit irdamp nsound",
    "param3": "kdiv rdalpha zd umove vmove",
    "param9": "output_filetype output_path output_basename",
    "miniapp": "backend config work",
}


class RunFailed(Exception):
    """A run that did not end well; the text is what a user should read."""


@dataclass
class Finished:
    returncode: int
    output: str


def find_program():
    """Fills in what ./dev would have set, so that scripts also run by themselves after a build."""
    build = Path(os.environ.setdefault("DAMARIS_BUILD_DIR", str(ROOT / "build" / "dev")))
    os.environ.setdefault("DAMARIS_SOURCE_DIR", str(ROOT))
    os.environ.setdefault("DAMARIS_MPI_FLAVOUR", "openmpi")
    os.environ.setdefault("DAMARIS_PLUGIN_PATH", str(build / "lib" / "damaris" / "plugins"))
    program = os.environ.setdefault("CM1_PROGRAM", str(build / "examples" / "cm1" / "cm1"))
    if not os.access(program, os.X_OK):
        raise RunFailed(f"there is no program {program}; build it with: ./dev build")


def write_namelist(path, settings):
    """Writes settings into the namelist group each belongs to."""
    unknown = set(settings) - set(" ".join(GROUPS.values()).split())
    if unknown:
        raise ValueError(f"no namelist group has {unknown}")
    with open(path, "w") as out:
        for group, names in GROUPS.items():
            out.write(f"&{group}\n")
            for name in names.split():
                if name in settings:
                    out.write(f"  {name} = {as_fortran(settings[name])}\n")
            out.write("/\n")


def as_fortran(value):
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, (list, tuple)):
        return ", ".join(as_fortran(v) for v in value)
    return str(value)


def prepare(folder, settings, servers=1, **hdf5):
    """Makes the run's folder with its namelist and, for damaris, its XML with that many servers a node.

    hdf5: further attributes of the XML's <hdf5>, such as restart: the basename of the run to go on from.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_namelist(folder / "namelist.input", settings)
    if settings.get("backend") == "damaris":
        text = (HERE / "cm1.xml").read_text()
        text = text.replace('<dedicated cores="1"/>', f'<dedicated cores="{servers}"/>')
        more = "".join(f' {name}="{value}"' for name, value in hdf5.items() if value)
        text = text.replace('basename="cm1out"', f'basename="cm1out"{more}')
        (folder / "cm1.xml").write_text(text)
    return folder


def command_line(ranks, arguments=(), own_cores=False, before=()):
    launcher = Path(os.environ["DAMARIS_SOURCE_DIR"]) / "scripts" / "mpi-run"
    flavour = os.environ["DAMARIS_MPI_FLAVOUR"]
    binding = ["-b"] if own_cores else []
    return [str(launcher), flavour, *binding, "-n", str(ranks), *before, os.environ["CM1_PROGRAM"], *arguments]


def launch(folder, ranks, nodes=None, limit_s=120, arguments=(), on_line=lambda line: None, own_cores=False, environment=None,
           before=()):
    """Runs the program in a prepared folder. nodes: ranks of each virtual node, as "3,5". own_cores: each rank is bound to one.
    environment: what the run has besides this process's. before: words before the program of each rank.

    on_line sees each line of output as it comes. After limit_s, or when on_line raises, the whole
    process group is ended.
    """
    environment = dict(os.environ, **(environment or {}))
    if nodes:
        environment["DAMARIS_RANKS_PER_NODE"] = nodes
    lines = []
    with subprocess.Popen(command_line(ranks, arguments, own_cores, before), cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as process:
        clock = Clock(process, limit_s)
        output = Output(process.stdout)
        try:
            for line in output.lines():
                lines.append(line)
                on_line(line)
            process.wait()
        finally:
            clock.stop()
            end_group(process)
            output.reader.join(10)
    if clock.rang:
        lines.append(f"ended after {limit_s} s: it was not done\n")
    return Finished(process.returncode, "".join(lines))


class Output:
    """Lines of a pipe, read beside: who waits for them looks up often, as a signal that comes just before a read does not end it."""

    def __init__(self, pipe):
        self.queue = queue.Queue()
        self.reader = threading.Thread(target=self.read, args=[pipe], daemon=True)
        self.reader.start()

    def read(self, pipe):
        for line in pipe:
            self.queue.put(line)
        self.queue.put(None)

    def lines(self):
        while True:
            try:
                line = self.queue.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                return
            yield line


class Clock:
    """Ends a process group that runs for too long."""

    def __init__(self, process, limit_s):
        self.rang = False
        self.timer = threading.Timer(limit_s, self.ring, [process])
        self.timer.start()

    def ring(self, process):
        self.rang = True
        end_group(process)

    def stop(self):
        self.timer.cancel()


def end_group(process):
    """Asks the launcher, and waits for all that it has started; what is not gone in time is killed."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
    end_session(process.pid, END_S)

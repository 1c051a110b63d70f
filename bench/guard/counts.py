"""Instructions of one write, by kind: hot_path in valgrind, its server outside.

Used by: guard.py. Before it: the built tree. After it: {row: instructions of a call}, the same in every run; README.md says why.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from failure import Failure

LIMIT_S = 200
END_S = 20  # a server that has lost its clients
VARIABLES = 64
# memcmp and memcpy for the oldest processors: their paths do not depend on how far a string is from the end of a page, and so on the
# lengths of paths and of the environment, nor on the processor.
SAME_EVERYWHERE = dict(GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load")


@dataclass(frozen=True)
class Kind:
    """One run of hot_path. `calls`: what is counted. Lane and buffer hold more than twice what all steps write."""

    name: str
    calls: tuple
    steps: int = 30
    writes: int = VARIABLES  # a step
    pool: bool = False


KINDS = {
    "dc_write_to 64 B": Kind("write_to", ("dc_write_to",)),
    "dc_write_to 64 B, first of a step": Kind("write_to", ("dc_write_to",), steps=100, writes=1),
    "dc_write 64 B, by name": Kind("write", ("dc_write",)),
    "dc_alloc + dc_commit 64 B, by name": Kind("alloc_commit", ("dc_alloc", "dc_commit")),
    "dc_write_to 64 B, shared pool": Kind("write_to", ("dc_write_to",), pool=True),
}


def count(kind):
    """Instructions of one write, all calls of its kind together."""
    with tempfile.TemporaryDirectory(prefix="damaris-bench.guard.") as folder:
        config = write_config(Path(folder), kind)
        with server(config, clients=2 if kind.pool else 1):
            if kind.pool:
                run([hot_path(), config, "come_and_go"])
            return count_calls(kind, config) / (kind.steps * kind.writes)


def count_calls(kind, config):
    counted = config.with_name("counted")
    # Without vgdb, whose pipes a valgrind that is killed would leave behind.
    run(["valgrind", "--tool=callgrind", "--vgdb=no", f"--callgrind-out-file={counted}", "--zero-before=warmed_up",
         *(f"--toggle-collect={call}" for call in kind.calls), hot_path(), config, kind.name, kind.steps, kind.writes],
        environment=SAME_EVERYWHERE)
    found = re.search(r"^summary: (\d+)$", counted.read_text(), re.MULTILINE)
    if not found or int(found[1]) == 0:
        raise Failure(f"callgrind has counted nothing in {' and '.join(kind.calls)}: is the name right, and the library not stripped?")
    return int(found[1])


def write_config(folder, kind):
    variables = "".join(f'<variable name="v{number}" layout="l"/>' for number in range(VARIABLES))
    split = "shared" if kind.pool else "equal"
    config = folder / "guard.xml"
    config.write_text(f"""<simulation name="guard">
  <architecture><server start="manual" attach-timeout="60s"/><buffer size="16MiB" split="{split}"/><lanes events="8192"/></architecture>
  <data><layout name="l" type="double" dimensions="8"/>{variables}</data>
</simulation>
""")
    return config


def hot_path():
    return Path(os.environ["DAMARIS_BUILD_DIR"]) / "bench" / "damaris-bench-hot-path"


@contextmanager
def server(config, clients):
    """A damaris-server of its own, which ends with its clients; killed with its region when it does not."""
    program = Path(os.environ["DAMARIS_BUILD_DIR"]) / "bin" / "damaris-server"
    process = start([program, config, f"--clients={clients}"], config.with_name("server.log"))
    try:
        yield
        if process.wait(END_S) != 0:
            raise Failure(f"damaris-server ended with {process.returncode}:\n{config.with_name('server.log').read_text()[-2000:]}")
    except subprocess.TimeoutExpired as why:
        raise Failure(f"damaris-server has not ended {END_S} s after its last client") from why
    finally:
        stop(process)


def stop(process):
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        process.wait()
        for region in Path("/dev/shm").glob(f"damaris.{os.geteuid()}.{os.environ['DAMARIS_JOB']}.*"):
            region.unlink(missing_ok=True)


def start(words, output):
    try:
        with open(output, "wb") as out:
            return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    except OSError as why:
        raise Failure(f"cannot start {words[0]} ({why.strerror}); build it with: ./dev build") from why


def run(words, environment=None):
    """Raises Failure with the end of what it said."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT_S,
                              env=dict(os.environ, **(environment or {})))
    except OSError as why:
        raise Failure(f"cannot start {words[0]} ({why.strerror}); build it with: ./dev build") from why
    except subprocess.TimeoutExpired as why:
        raise Failure(f"{' '.join(words)}\nwas not done after {LIMIT_S} s") from why
    if done.returncode != 0:
        raise Failure(f"{' '.join(words)}\nended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")


def why_not():
    """Why nothing can be counted here, or ''."""
    return "" if shutil.which("valgrind") else "valgrind is not installed; ./dev setup installs it"

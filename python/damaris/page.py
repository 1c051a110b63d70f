"""The report as one self-contained HTML page."""

import json
from importlib import resources
from pathlib import Path

from damaris.charts import Charts
from damaris.errors import Refused
from damaris.findings import Finding
from damaris.verbs.text import ranges, shared_folder, shortened, size, within

FUNCTIONS = """select layer, function, count(*), sum(bytes) filter (kind in ('read', 'write', 'send'))::bigint, sum("end" - "begin") / 1e9 as seconds
from calls where top group by all order by seconds desc limit 15"""
FILES = """select name, coalesce(sum(bytes) filter (kind = 'write'), 0)::bigint as written, coalesce(sum(bytes) filter (kind = 'read'), 0)::bigint as read,
list(distinct process order by process) filter (kind = 'write') as writers, list(distinct process order by process) filter (kind = 'read') as readers,
sum(ns) / 1e9 from storage group by name having written + read > 0 order by written desc, read desc limit 25"""


def program_of(run) -> str:
    try:
        return " ".join(json.loads((run.store.parent / "recording.json").read_text())["program"])
    except (OSError, ValueError, KeyError):
        return str(run.store.parent)


def files_of(run) -> tuple[str, list[tuple]]:
    rows = run.query(FILES).fetchall()
    folder = shared_folder(row[0] for row in rows)
    return folder, [(shortened(within(name, folder), 60), size(written), size(read), ranges(writers or []), ranges(readers or []), f"{seconds:.3g}")
                    for name, written, read, writers, readers, seconds in rows]  # fmt: skip


def coverage_of(run) -> str:
    [(seen, counted, killed)] = run.query("""select sum(least(seen, counted)), sum(counted), count(*) filter (ended = 'killed')
        from processes""").fetchall()
    share = f"{100 * seen / counted:.1f} % of the bytes that the kernel saw written are in the recording." if counted else "No process has told what the kernel counted."
    return share + (f" {killed} of the processes were killed: their bytes are counted here, but not in that share." if killed else "")


def write(run, found: list[Finding], headline: str, path: Path) -> None:
    """Raises Refused if `path` cannot be written."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(resources.files("damaris").joinpath("page.html").read_text())
    has_calls = run.query("select count(*) from calls").fetchall()[0][0] > 0
    charts = Charts(run).all() if has_calls else []
    folder, files = files_of(run)
    page = template.render(
        program=program_of(run), headline=headline, found=found, ranges=ranges, folder=folder, files=files, coverage=coverage_of(run),
        functions=[(layer, name, f"{count:,}", size(moved) if moved else "", f"{seconds:.3g}") for layer, name, count, moved, seconds in run.query(FUNCTIONS).fetchall()],
        charts=[(chart.title, chart.says, chart.html(with_library=number == 0)) for number, chart in enumerate(charts)],
        losses=[(why, calls) for why, calls in run.query("select why, sum(calls) from losses group by why").fetchall()])  # fmt: skip
    try:
        path.write_text(page)
    except OSError as error:
        raise Refused(f"cannot write '{path}': {error.strerror}") from error

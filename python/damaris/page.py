"""The report as one self-contained HTML page."""

from importlib import resources
from pathlib import Path

from damaris.charts import Charts
from damaris.errors import Refused
from damaris.facts import Facts
from damaris.findings import Finding
from damaris.verbs import info
from damaris.verbs.files import is_of_system
from damaris.verbs.text import ranges, seconds, shared_folder, shortened, size, within

FUNCTIONS = """select layer, function, sum(count), sum(bytes)::bigint, sum(ns) / 1e9 as seconds
from functions where count > 0 group by all order by seconds desc limit 15"""
FILES = """select name, coalesce(sum(bytes) filter (kind = 'write'), 0)::bigint as written, coalesce(sum(bytes) filter (kind = 'read'), 0)::bigint as read,
list(distinct process order by process) filter (kind = 'write') as writers, list(distinct process order by process) filter (kind = 'read') as readers,
sum(ns) / 1e9 from access group by name having written + read > 0 order by written desc, read desc, name limit 1000"""


def program_of(command: str) -> str:
    """Without the folder that it is in."""
    program, _, arguments = command.partition(" ")
    return f"{program.rpartition('/')[2]} {arguments}".strip()


def files_of(facts) -> tuple[str, list[tuple]]:
    rows = [row for row in facts.rows(FILES) if not is_of_system(row[0], row[1])][:25]
    folder = shared_folder([row[0] for row in rows if row[1]] or [row[0] for row in rows])
    return folder, [(shortened(within(name, folder), 60), size(written) if written else "", size(read) if read else "", seconds(spent), ranges(writers or []), ranges(readers or []))
                    for name, written, read, writers, readers, spent in rows]  # fmt: skip


def write(facts: Facts, found: list[Finding], headline: str, path: Path) -> None:
    """Raises Refused if `path` cannot be written."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(resources.files("damaris").joinpath("page.html").read_text())
    run = facts.run
    job = run.query(info.JOB).fetchall()[0]
    _, _, _, hosts, _, _, seen, counted, *ends = job
    coverage, losses = info.coverage(seen, counted), list(info.warnings(run, hosts, *ends))
    missing = ([coverage.partition(" Not seen")[0]] if counted and seen < 0.99 * counted else []) + losses
    charts = Charts(facts).all() if facts.has_calls else []
    folder, files = files_of(facts)
    page = template.render(
        program=program_of(info.command(run.store.parent)), command=info.command(run.store.parent), headline=headline, about=info.about(job), found=found, ranges=ranges, folder=folder, files=files,
        notices=[f"Not all of the run is here. {line}" for line in missing[:1]], coverage=coverage, losses=losses,
        functions=[(layer, name, f"{count:,}", size(moved) if moved else "", seconds(spent)) for layer, name, count, moved, spent in facts.rows(FUNCTIONS)],
        charts=[(chart.title, chart.says, chart.html(with_library=number == 0)) for number, chart in enumerate(charts)])  # fmt: skip
    try:
        path.write_text(page)
    except OSError as error:
        raise Refused(f"cannot write '{path}': {error.strerror}") from error

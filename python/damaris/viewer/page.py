"""The timeline of a small recording as one page that needs no server."""

import base64
import json
import re
from pathlib import Path

import numpy as np

from damaris.errors import Refused
from damaris.levels import NUMBER
from damaris.timeline import MOST_LINES, Timeline, Window
from damaris.viewer.server import LIBRARY, file

MOST_CALLS = 300_000  # some 10 MB of page


def encoded(values, dtype) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype).tobytes()).decode()


def embedded(timeline: Timeline) -> dict:
    """What embedded.js answers from."""
    [(count,)] = timeline.rows_of("select count(*) from calls")
    if count > MOST_CALLS:
        raise Refused(f"the recording has {count:,} calls, a page holds {MOST_CALLS:,}; 'damaris view {timeline.run.store.parent}' shows all")
    calls = timeline.run.database.cursor().execute(
        f"""select process, thread, "begin" - {timeline.begin} as begin, "end" - "begin" as ns, {NUMBER} as layer, bytes, function, top::utinyint as top,
        coalesce(o.name, '') as object from calls c left join objects o on o.id = c.object order by process, thread, c."begin", depth""").fetchnumpy()  # fmt: skip
    key = calls["process"].astype(np.int64) << 32 | calls["thread"]
    rows = [np.flatnonzero(key == process << 32 | thread) for process, thread in timeline.threads]
    order = np.concatenate(rows or [np.zeros(0, np.int64)])
    names: dict[tuple[str, str], int] = {}
    what = [names.setdefault(one, len(names)) for one in zip(calls["function"].tolist(), calls["object"].tolist(), strict=True)]
    window = Window(-1, timeline.end - timeline.begin + 1, 0, len(rows))
    lines = timeline.lines(window, most=MOST_CALLS)
    return {
        "about": timeline.about(), "findings": timeline.findings(), "what": list(names), "first": np.cumsum([0, *map(len, rows)]).tolist(),
        "calls": {"begin": encoded(calls["begin"][order], "f8"), "ns": encoded(calls["ns"][order], "f8"), "layer": encoded(calls["layer"][order], "u1"),
                  "top": encoded(calls["top"][order], "u1"), "what": encoded(np.array(what, np.int64)[order], "u4"), "bytes": encoded(calls["bytes"][order], "f8")},
        "messages": lines["messages"], "collectives": lines["collectives"], "most": MOST_LINES,
    }  # fmt: skip


def write(timeline: Timeline, path: Path) -> None:
    """Raises Refused if the recording is too large, or `path` cannot be written."""
    data = json.dumps(embedded(timeline)).replace("<", "\\u003c")
    scripts = [file(LIBRARY), f"window.embedded = {data};", file("embedded.js"), file("drawing.js"), file("viewer.js")]
    page = file("viewer.html")
    page = re.sub("<!--style-->.*?<!--/style-->", lambda _: f"<style>\n{file('viewer.css')}</style>", page, flags=re.DOTALL)
    page = re.sub("<!--scripts-->.*?<!--/scripts-->", lambda _: "\n".join(f"<script>\n{script}\n</script>" for script in scripts), page, flags=re.DOTALL)
    try:
        path.write_text(page)
    except OSError as error:
        raise Refused(f"cannot write '{path}': {error.strerror}; name another file with -o") from error

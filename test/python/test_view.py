"""The viewer's server: rasters against a slow painter, what lies under them, and who is let in."""

import asyncio
import json
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
from raw_files import about, call, chunk, completed, message, process, requested, text, write

import damaris
from damaris.kernel import LAYERS
from damaris.timeline import Timeline, Window

LIMIT_S = 60  # for an answer of a viewer, or its end, where others use the cores
FUNCTIONS = {"dc_write": "damaris", "H5Dwrite": "hdf5", "MPI_File_write": "mpiio", "fwrite": "stdio", "pwrite": "posix", "MPI_Barrier": "mpi"}


def nested(draw, begin, end, depth, out):
    """Calls inside others; a slot comes behind those inside it."""
    at = begin
    while depth < 4 and draw.random() < 0.8:
        start = at + draw.randint(1, max(1, (end - at) // 4))
        stop = start + draw.randint(1, max(1, (end - start) // 2))
        if stop >= end:
            break
        name = draw.choice(list(FUNCTIONS))
        nested(draw, start, stop, depth + 1, out)
        out.append((name, start, stop, depth))
        at = stop


@pytest.fixture
def traced(run, number):
    """traced(seed): a recording of three processes, and the calls of each by begin."""

    def make(seed):
        draw, made = random.Random(seed), []
        for rank in range(3):
            calls = []
            for begin in range(0, 120_000, 10_000):
                nested(draw, begin + 1, begin + 10_000, 0, calls)
            write(run, chunk(process(pid=100 + rank, rank=rank, ranks=3) + b"".join(call(number(name), a, b, depth=depth) for name, a, b, depth in calls)), name=f"node.{100 + rank}.1")
            made.append(sorted(((a, -b, depth, name) for name, a, b, depth in calls)))
        return made

    return make


def painted(calls, begin, end, width):
    """Of each pixel the layer that was innermost longest, and its ns; ns by ns."""
    innermost = np.full(int(end - begin), -1)
    for a, minus_b, depth, name in sorted(calls, key=lambda one: one[2]):  # the inner ones over the outer ones
        innermost[max(a - begin, 0) : max(-minus_b - begin, 0)] = LAYERS.index(FUNCTIONS[name])
    pixels = innermost.reshape(width, -1)
    counts = np.stack([(pixels == layer).sum(1) for layer in range(len(LAYERS))], 1)
    return counts


def same(raster, counts, room):
    for (layer, share), ns in zip(raster.reshape(-1, 2).tolist(), counts, strict=True):
        assert (layer == 0) == (ns.max() == 0)
        if layer:
            assert ns[layer - 1] == ns.max() and abs(share - 255 * ns.max() / room) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_pixels_show_who_was_innermost_longest(traced, run, seed):
    calls = traced(seed)
    line = Timeline(damaris.open(run))
    first = min(one[0] for mine in calls for one in mine)
    for begin, pixel, width in [(0, 1, 300), (5000, 1, 2000), (20_000, 1, 999)]:  # narrower than the bins of the levels
        shown = np.frombuffer(line.raster(Window(begin, begin + pixel * width, 0, 3), width), np.uint8).reshape(3, width, 2)
        for row in range(3):
            same(shown[row], painted(calls[row], first + begin, first + begin + pixel * width, width), pixel)


@pytest.mark.parametrize("seed", range(4))
def test_levels_are_the_same_picture_of_all(traced, run, seed):
    calls = traced(seed)
    line = Timeline(damaris.open(run))
    first, duration = min(one[0] for mine in calls for one in mine), line.end - line.begin
    for level in line.levels:
        width = duration / level.shape[1]
        for row in range(3):
            # Where bins are no whole ns the slow painter is off by one at each edge.
            layer, share = level[line.order[row]].T.astype(float)
            for at in random.Random(seed).sample(range(level.shape[1]), 100):
                ns = painted(calls[row], first + round(at * width), first + max(round((at + 1) * width), round(at * width) + 1), 1)[0]
                assert layer[at] == 0 or ns[int(layer[at]) - 1] + 4 >= ns.max()
                assert abs(share[at] / 255 * width - ns.max()) <= 4 + width / 255
    whole = np.frombuffer(line.raster(Window(0, duration, 0, 3), 256), np.uint8).reshape(3, 256, 2)
    assert (whole[..., 0] > 0).any() and whole[..., 0].max() <= len(LAYERS)


def test_a_window_outside_of_the_recording_is_empty(traced, run):
    traced(1)
    line = Timeline(damaris.open(run))
    assert not any(line.raster(Window(10**9, 2 * 10**9, 0, 3), 100)) and not any(line.raster(Window(-1000, -10, 0, 3), 10))


@pytest.fixture
def talking(run, number):
    """Two ranks, of which one sends to the other, and both meet in a barrier."""
    for rank, mine in enumerate([
        call(number("MPI_Send"), 2000, 2100, object=1, bytes=8, place=message(1, 5)) + call(number("MPI_Barrier"), 5000, 6000, object=1),
        call(number("MPI_Irecv"), 1000, 1100, object=1, place=message(0, 5)) + requested(7) + call(number("MPI_Wait"), 2500, 3000) + completed(7, 0, 5, 8)
        + call(number("MPI_Barrier"), 5500, 6000, object=1) + call(number("pwrite"), 7000, 9000, object=2, bytes=100, place=4096),
    ]):  # fmt: skip
        words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=2)
        write(run, chunk(process(pid=100 + rank, rank=rank, ranks=2) + text(4, words, object=1) + text(2, "/data/out", object=2) + mine), name=f"node.{100 + rank}.1")
    return Timeline(damaris.open(run))


ALL = Window(0, 8000, 0, 2)


def test_what_lies_under_a_point(talking):
    assert talking.about()["rows"] == ["rank 0", "rank 1"] and talking.about()["duration"] == 8001
    [found] = talking.stack(1, 6500)
    assert (found["function"], found["object"], found["begin"], found["ns"], found["offset"]) == ("pwrite", "/data/out", 6000, 2000, 4096)
    assert talking.stack(0, 6500) == [] == talking.stack(5, 0)
    assert [one["function"] for one in talking.stack(0, 1150, slack=100)] == ["MPI_Send"]


def test_lines_are_messages_and_meetings(talking):
    assert talking.lines(ALL) == {"messages": [[1000, 0, 2000, 1]], "collectives": [[[4000, 0], [4500, 1]]]}
    assert talking.lines(Window(2500, 3500, 0, 2)) == {"messages": [], "collectives": []}


def test_statistics_count_the_time_inside_the_window(talking):
    assert talking.statistics(Window(4000, 5000, 0, 1)) == {"columns": ["layer", "function", "calls", "bytes", "seconds"], "rows": [["mpi", "MPI_Barrier", 1, 0, 1e-06]], "more": False}
    assert {row[1] for row in talking.statistics(ALL)["rows"]} == {"MPI_Send", "MPI_Irecv", "MPI_Wait", "MPI_Barrier", "pwrite"}


def test_questions_have_an_answer_a_picture_or_a_sentence(talking):
    answer = talking.ask("Latency Breakdown Inclusive [-]")
    assert answer["columns"] and answer["rows"] and answer["picture"].startswith("data:image/png;base64,")
    assert talking.ask("select count(*) from calls") == {"columns": ["count_star()"], "rows": [[6]], "more": False}
    assert "nowhere" in talking.ask("select * from nowhere")["error"]
    assert "error" in talking.ask("Latensy Breakdown")


def test_answers_keep_all_digits_and_what_json_has_no_word_for(talking):
    assert talking.ask(f"select {2**60 + 1}, {2**53}, 'nan'::double, -1 / 0")["rows"] == [[str(2**60 + 1), 2**53, None, "-inf"]]


def test_a_long_answer_is_cut_and_has_no_picture(talking, monkeypatch):
    monkeypatch.setattr("damaris.timeline.MOST_DRAWN", 0)
    monkeypatch.setattr("damaris.timeline.MOST_ROWS", 0)
    answer = talking.ask("Latency Breakdown Exclusive [-] [-]")
    assert answer["rows"] == [] and answer["more"] and answer["picture"] is None


def test_of_more_calls_than_memory_holds_the_picture_is_coarse(traced, run, monkeypatch):
    traced(0)
    line = Timeline(damaris.open(run))
    window = Window(10_000, 10_600, 0, 3)
    monkeypatch.setattr("damaris.timeline.MOST_PAINTED", line.files.count(line.begin + 10_000, line.begin + 10_600, 0, 2) - 1)
    monkeypatch.setattr(line.files, "read", None)
    assert line.raster(window, 1000) == line.sampled(line.levels[0], window, 0, 3, 1000).tobytes()


def test_lines_of_a_meeting_go_from_row_to_row(run, number):
    """Also where processes are not numbered as ranks are."""
    for rank in range(4):
        words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=4)
        slots = process(pid=200 - rank, rank=rank, ranks=4) + text(4, words, object=1) + call(number("MPI_Barrier"), 100 * rank, 1000, object=1)
        write(run, chunk(slots), name=f"node.{200 - rank}.1")
    assert Timeline(damaris.open(run)).lines(Window(0, 1001, 0, 4))["collectives"] == [[[0, 0], [100, 1], [200, 2], [300, 3]]]


def test_a_question_ends_with_the_page_that_asked_it(talking):
    """Otherwise each one that somebody was tired of would run on."""
    from damaris.viewer.server import app_of

    words = "select count(*) from range(300000) a, range(300000) b where (a.range * b.range) % 7 = 3"
    scope = {"type": "http", "method": "GET", "path": "/api/ask", "query_string": urllib.parse.urlencode({"words": words}).encode(), "headers": []}
    sent = []

    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(app_of(talking)(scope, gone, send))
    assert "INTERRUPT" in json.loads(sent[1]["body"])["error"] and not talking.asked


@pytest.fixture
def served(talking, run):
    """The address with its token, of a viewer that a user would start."""
    words = [sys.executable, "-m", "damaris.verbs", "view", str(run), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as viewer:
        yield viewer.stdout.readline().strip()
        viewer.send_signal(signal.SIGINT)
        assert viewer.wait(LIMIT_S) in (0, 130, -signal.SIGINT)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def get(address, **headers):
    """Status, headers and body."""
    opener = urllib.request.build_opener(NoRedirect)
    try:
        with opener.open(urllib.request.Request(address, headers=headers), timeout=LIMIT_S) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_only_who_knows_the_token_is_let_in(served, run, verb):
    base, _, token = served.partition("/?token=")
    assert get(f"{base}/api/about")[0] == get(f"{base}/?token=wrong")[0] == get(f"{base}/api/about?token={token}")[0] == 401
    status, headers, _ = get(served)
    cookie = headers["set-cookie"].split(";")[0]
    assert status == 303 and headers["location"] == "/" and "httponly" in headers["set-cookie"].lower() and "samesite=strict" in headers["set-cookie"].lower()
    assert json.loads(get(f"{base}/api/about", Cookie=cookie)[2])["rows"] == ["rank 0", "rank 1"]
    assert get(f"{base}/api/about", Cookie=cookie, Origin="http://evil.example")[0] == 403
    assert get(f"{base}/api/about", Cookie=cookie, Host="evil.example:80")[0] == 403
    for name, word in [("", b"<canvas"), ("d3.min.js", b"d3js"), ("viewer.js", b"class Viewer"), ("drawing.js", b"class Drawing"), ("viewer.css", b"#timeline")]:
        assert word in get(f"{base}/{name}", Cookie=cookie)[2]
    assert get(f"{base}/server.py", Cookie=cookie)[0] == 404
    assert len(get(f"{base}/api/raster?begin=0&end=8000&first=0&last=2&width=50", Cookie=cookie)[2]) == 2 * 50 * 2
    for wrong in ("begin=0&end=0&first=0&last=2&width=50", "begin=0&end=1&first=0&last=2&width=100000000", "begin=nan&end=1&first=0&last=1&width=1", "width=1"):
        assert get(f"{base}/api/raster?{wrong}", Cookie=cookie)[0] == 400
    # A second viewer gets its own port, unless it asks for this one.
    port = int(re.search(r":(\d+)", base)[1])
    status, _, complaint = verb("view", run, "--no-browser", "--port", port)
    assert status == 1 and f"port {port} cannot be used: Address already in use" in complaint


def test_the_interrupt_of_ctrl_c_counts_from_the_address_on(talking, run):
    """Also where the shell had it ignored, as of what is started in the background."""
    words = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "damaris.verbs", "view", str(run), "--no-browser"]
    for _ in range(3):
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as viewer:
            assert viewer.stdout.readline().startswith("http://127.0.0.1:")
            viewer.send_signal(signal.SIGINT)
            assert viewer.wait(LIMIT_S) == 0


@pytest.mark.parametrize("seed", range(2))
def test_a_store_without_levels_gets_the_same_ones(traced, run, seed):
    traced(seed)
    before = Timeline(damaris.open(run))
    made = [level.copy() for level in before.levels]
    for harm in ("removed", "cut", "older"):
        if harm == "removed":
            shutil.rmtree(run / "store/levels")
        elif harm == "cut":
            (run / "store/levels/0.npy").write_bytes(b"")
        else:
            about = json.loads((run / "store/levels/levels.json").read_text())
            (run / "store/levels/levels.json").write_text(json.dumps(about | {"layers": ["posix"]}))
        shutil.rmtree(run / "raw", ignore_errors=True)
        after = Timeline(damaris.open(run))
        assert (after.begin, after.end, after.threads) == (before.begin, before.end, before.threads)
        assert len(made) == len(after.levels) and all((a == b).all() for a, b in zip(made, after.levels, strict=True)), harm
    assert sorted(path.name for path in (run / "store").glob("levels*")) == ["levels"]


def test_levels_that_cannot_be_made_are_named(talking, run, verb, monkeypatch):
    shutil.rmtree(run / "store/levels")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.save", full)
    status, _, complaint = verb("view", run, "--no-browser")
    assert status == 1 and f"the picture of '{run}/store' is missing, and cannot be made there: No space left on device; copy the store" in complaint
    assert not list((run / "store").glob("levels*"))


def test_a_recording_without_a_call_has_an_empty_timeline(run):
    write(run, chunk(process()))
    line = Timeline(damaris.open(run))
    assert line.about()["rows"] == [] and line.raster(Window(0, 1, 0, 1), 10) == b""
    with viewer(run) as (base, cookie):
        assert get(f"{base}/api/raster?begin=0&end=1&first=0&last=1&width=10", Cookie=cookie)[::2] == (200, b"")


def test_pages_of_other_ports_and_odd_tokens_are_kept_out(talking, run):
    with viewer(run) as (base, cookie):
        for site, status in (("same-site", 403), ("cross-site", 403), ("same-origin", 200), ("none", 200)):
            assert get(f"{base}/api/about", Cookie=cookie, **{"Sec-Fetch-Site": site})[0] == status
        assert get(f"{base}/", **{"Sec-Fetch-Site": "cross-site"})[0] == 401 == get(f"{base}/?token=%C3%A9")[0]
        assert get(f"{base}/api/about", Cookie=f"{cookie[:-1]}\xe9")[0] == 401


def test_a_page_needs_no_server_and_says_if_there_is_too_much(talking, run, verb, monkeypatch):
    assert verb("view", run, "-o", "page.html")[0] == 0
    page = (run.parent / "page.html").read_text()
    assert "window.embedded" in page and "<link rel=\"stylesheet\"" not in page and "<script src" not in page
    monkeypatch.setattr("damaris.viewer.page.MOST_CALLS", 5)
    status, _, complaint = verb("view", run, "-o", "page.html")
    assert status == 1 and "the recording has 6 calls, a page holds 5" in complaint
    monkeypatch.undo()
    assert "cannot write 'nowhere/page.html'" in verb("view", run, "-o", "nowhere/page.html")[2]


@contextmanager
def viewer(run):
    """Its address without the token, and the cookie that lets in. It complains of nothing."""
    words = [sys.executable, "-m", "damaris.verbs", "view", str(run), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            yield address.partition("/?")[0], get(address)[1]["set-cookie"].split(";")[0]
        finally:
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
            assert process.wait(LIMIT_S) in (0, 130, -signal.SIGINT) and said == ""


def test_two_viewers_in_one_browser_do_not_know_each_other(talking, run):
    with viewer(run) as (first, cookie), viewer(run) as (second, other):
        assert first != second and cookie.split("=")[0] != other.split("=")[0]  # a browser sends both to both, as it does not tell ports apart
        for base in (first, second):
            assert json.loads(get(f"{base}/api/about", Cookie=f"{cookie}; {other}")[2])["rows"] == ["rank 0", "rank 1"]
        assert get(f"{second}/api/about", Cookie=cookie)[0] == 401 == get(f"{first}/api/about", Cookie=other)[0]


def test_a_browser_that_is_closed_in_a_request_leaves_the_server_as_it_was(talking, run):
    slow = urllib.parse.quote("select count(*) from range(3000) a, range(3000) b, range(20) c where (a.range + b.range + c.range) % 7 = 0")
    with viewer(run) as (base, cookie):
        for path in (f"/api/ask?words={slow}", "/api/raster?begin=0&end=8000&first=0&last=2&width=500", "/"):
            with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])), timeout=LIMIT_S) as connection:
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {base.removeprefix('http://')}\r\nCookie: {cookie}\r\n\r\n".encode())
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # by a reset, as of one that was killed
        assert len(json.loads(get(f"{base}/api/stack?row=1&time=6500", Cookie=cookie)[2])) == 1


@pytest.mark.parametrize("rank", ["", 0])
def test_one_process_without_mpi_or_alone_is_a_timeline_as_others(run, number, rank):
    write(run, chunk(process(rank=rank, ranks="" if rank == "" else 1) + text(2, "/data/out", object=2) + call(number("pwrite"), 1000, 3000, object=2, bytes=8, place=0)))
    line = Timeline(damaris.open(run))
    assert line.about()["rows"] == ["model 100" if rank == "" else "rank 0"] and line.about()["losses"] == []
    assert line.lines(Window(0, 2000, 0, 1)) == {"messages": [], "collectives": []} and line.findings() == []
    assert set(line.raster(Window(0, 2000, 0, 1), 10)[::2]) == {1 + LAYERS.index("posix")}
    assert line.stack(0, 500)[0]["function"] == "pwrite"


@pytest.mark.parametrize(("late", "said"), [(0, "how far these differ is not known"), (900_000, "which differ by at least 0.9 ms: a message came before it was sent")])
def test_hosts_are_named_and_what_is_known_of_their_clocks(run, number, late, said):
    """The second host's clock is behind."""
    for rank, mine in enumerate([call(number("MPI_Send"), 1_000_000, 1_000_100, object=1, bytes=8, place=message(1, 5)),
                                 call(number("MPI_Recv"), 999_000, 1_000_000, object=1, bytes=8, place=message(0, 5))]):  # fmt: skip
        words = about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=2)
        begun = process(pid=100, host=f"node{rank}", rank=rank, ranks=2, monotonic=0, realtime=10**9 - late * rank)
        write(run, chunk(begun + text(4, words, object=1) + mine), name=f"node{rank}.100.1")
    shown = Timeline(damaris.open(run)).about()
    assert shown["rows"] == ["rank 0 on node0", "rank 1 on node1"]
    assert f"times are by the clocks of 2 hosts, {said}" in shown["losses"]

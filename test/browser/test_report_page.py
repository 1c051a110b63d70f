"""The page of damaris report as people have it: on a screen, on a telephone, on paper, and by a screen reader; it asks nobody for anything."""

import re
import shutil
import time

import pytest
import raw_files as raw
from browser import printed_pages, printed_text

from damaris import kernel, verbs

MS = 10**6
NUMBER = kernel.functions().name.index
DRAWN = """return [...document.querySelectorAll('.js-plotly-plot')].map(plot => {
  const marks = plot.querySelectorAll('.barlayer .point path, .heatmaplayer image, .scatterlayer .js-line');
  const sizes = [...marks].map(mark => mark.getBoundingClientRect()).filter(box => box.width > 0 || box.height > 0);
  const box = plot.querySelector('.main-svg').getBoundingClientRect();
  return [sizes.length, box.width, box.right];
})"""


def of_a_job(run):
    """Four ranks write six times into a file that they share, and into files of their own in a folder with a long name; rank 0 reads; all wait in MPI."""
    folder = "/scratch/project_with_a_long_name/user/simulations/run_000123_resolution_of_half_a_degree_with_a_longer_name"
    for rank in range(4):
        slots = raw.process(pid=100 + rank, rank=rank, ranks=4)
        for number in range(7):
            name = f"{folder}/step{number}_of_process_{rank:06}.dat" if number else f"{folder}/<b>all&of_us</b>.nc"
            slots += raw.text(raw.PATH, name, object=1 + number)
        for step in range(6):
            begin = (1000 * step + 1) * MS
            slots += raw.call(NUMBER("MPI_Barrier"), begin, begin + 200 * MS, depth=0)
            slots += raw.call(NUMBER("open"), begin + 201 * MS, begin + 230 * MS, object=2 + step)
            slots += raw.call(NUMBER("pwrite"), begin + 231 * MS, begin + (300 + 400 * (step == 3)) * MS, object=2 + step, bytes=1 << 20, place=0)
            for i in range(30):
                at = begin + (710 + 5 * i) * MS
                slots += raw.call(NUMBER("pwrite"), at, at + 3 * MS, object=1, bytes=100, place=(30 * 4 * step + 4 * i + rank) * 100)
        slots += raw.call(NUMBER("pread"), 5900 * MS, 5910 * MS, object=1, bytes=4096, place=0)
        raw.write(run, raw.chunk(slots + raw.end(6000 * MS, wchar=6 * (1 << 20) + 18_000)), name=f"node.{100 + rank}.1")


def of_a_quiet_program_with_losses(run):
    slots = raw.process() + raw.text(raw.PATH, "/out/a", object=1) + raw.call(NUMBER("write"), MS, 2 * MS, object=1, bytes=1 << 20)
    slots += raw.text(raw.LOSS, "the disk was full", place=7) + raw.call(NUMBER("MPI_Send"), 3 * MS, 900 * MS)
    raw.write(run, raw.chunk(slots + raw.end(1000 * MS, wchar=2 << 20)))


def without_a_call(run):
    (run / "raw").mkdir(parents=True)
    (run / "recording.json").write_text('{"program": ["true"]}')


@pytest.fixture(scope="module", params=[of_a_job, of_a_quiet_program_with_losses, without_a_call])
def page(request, tmp_path_factory):
    run = tmp_path_factory.mktemp("page") / "run"
    request.param(run)
    verbs.run("report", [str(run), "-o", str(run / "page.html")])
    alone = tmp_path_factory.mktemp("elsewhere") / "page.html"
    return shutil.move(run / "page.html", alone)


@pytest.fixture(scope="module", params=(1280, 400))
def shown(request, page, browser):
    """The page at this width, in pixels."""
    browser.open(page, request.param)
    return browser


def test_nothing_scrolls_sideways(shown):
    assert shown.ask("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_each_picture_is_drawn(shown, page):
    count, inner = page.read_text().count('class="plotly-graph-div"'), shown.ask("return innerWidth")
    for _ in range(300):  # the page is loaded a little before its pictures are fitted to it
        drawn = shown.ask(DRAWN)
        if len(drawn) == count and all(marks > 0 and width > 250 and right <= inner for marks, width, right in drawn):
            return
        time.sleep(0.1)
    raise AssertionError(f"{count} pictures on {inner} pixels: {drawn}")


def test_nothing_is_wrong_and_nobody_is_asked(shown):
    assert shown.complaints() == [] and shown.requests() == []


def test_axe_finds_no_barrier(shown):
    assert shown.violations() == []


def test_no_link_leaves_the_page(shown):
    links = shown.ask("return [...document.querySelectorAll('a, link, img, iframe, script, form, object')].map(one => one.href || one.src || one.action || one.data || '')")
    assert [link for link in links if link and not str(link).startswith(("data:", "blob:"))] == []


def test_the_first_look_says_most(shown):
    """Without scrolling: what was run, and what a busy person reads."""
    assert shown.ask("return document.querySelector('.lead').getBoundingClientRect().bottom") < 900


@pytest.mark.parametrize("shown", [1280], indirect=True)
def test_on_paper(shown, page, tmp_path):
    lead = " ".join(shown.ask("return document.querySelector('.lead').innerText").split())
    shown.print(tmp_path / "page.pdf")
    text = printed_text(tmp_path / "page.pdf")
    assert lead in text
    for heading in re.findall(r"<h2>(.*?)</h2>", page.read_text()):
        assert heading in text
    for sheet in printed_pages(tmp_path / "page.pdf", tmp_path):
        assert (sheet < 0.9).mean() > 0.0003, "a sheet is blank"

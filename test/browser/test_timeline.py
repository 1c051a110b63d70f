"""The viewer in a browser: a person zooms, moves, points, selects, follows findings, asks."""

import re
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import raw_files as raw
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By

import damaris
from damaris import kernel

MS = 10**6
SECOND = 1000 * MS
NUMBER = kernel.functions().name.index
# What the page writes behind its address for the present view.
ADDRESS = "`#${new URLSearchParams(Object.entries(viewer.view).map(([key, value]) => [key, String(+value.toFixed(3))]))}`"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three ranks for a second: 2000 small writes, a message to the next one each tenth, barriers."""
    folder = tmp_path_factory.mktemp("timeline") / "run"
    for rank in range(3):
        words = raw.about(kind="communicator", name="MPI_COMM_WORLD", id="world", rank=rank, size=3)
        slots = raw.process(pid=100 + rank, rank=rank, ranks=3) + raw.text(4, words, object=1) + raw.text(2, "/data/out", object=2)
        for tenth in range(10):
            begin = tenth * 100 * MS
            slots += raw.call(NUMBER("MPI_Send"), begin + MS, begin + 2 * MS, object=1, bytes=8, place=raw.message((rank + 1) % 3, 5))
            slots += raw.call(NUMBER("MPI_Recv"), begin + 3 * MS, begin + 9 * MS, object=1, bytes=8, place=raw.message((rank + 2) % 3, 5))
            for k in range(200):
                at = begin + 10 * MS + k * MS // 4
                slots += raw.call(NUMBER("pwrite"), at, at + MS // 5, object=2, bytes=8, place=(rank * 2000 + tenth * 200 + k) * 8)
            slots += raw.call(NUMBER("MPI_Barrier"), begin + 80 * MS, begin + (90 + rank) * MS, object=1)
        slots += raw.call(NUMBER("pwrite"), 995 * MS, 996 * MS, object=2, bytes=1 << 20, place=1 << 20)
        raw.write(folder, raw.chunk(slots + raw.end(1000 * MS)), name=f"node.{100 + rank}.1")
    return folder


@contextmanager
def viewing(run):
    """Its address."""
    words = [sys.executable, "-m", "damaris.verbs", "view", str(run), "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            yield viewer.stdout.readline().strip()
        finally:
            viewer.terminate()


@pytest.fixture(scope="module")
def address(run):
    with viewing(run) as address:
        yield address


class Page:
    def __init__(self, browser, address, width=1280):
        self.browser, self.driver = browser, browser.driver
        self.driver.get("about:blank")
        browser.open(address, width)
        self.drawn()

    def until(self, script, why):
        for _ in range(300):
            if found := self.browser.ask(f"return {script}"):
                return found
            time.sleep(0.1)
        raise AssertionError(f"{why}: {self.browser.ask('return document.body.innerText')}")

    def drawn(self):
        """The picture of the view as it is now: the address follows it a little later, and the picture follows the address."""
        self.until(f"window.viewer && document.body.dataset.drawn === location.hash && location.hash === {ADDRESS}", "the picture does not come")

    def view(self):
        self.drawn()
        return self.browser.ask("return window.viewer.view")

    def view_when(self, is_so, why):
        """The view, once it is as an input that was just sent should leave it."""
        for _ in range(300):
            if is_so(view := self.view()):
                return view
            time.sleep(0.1)
        raise AssertionError(f"{why}: {view}")

    @property
    def canvas(self):
        return self.driver.find_element(By.ID, "canvas")

    def colours(self):
        """How many pixels have colour."""
        return self.browser.ask("""const data = document.getElementById('canvas').getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            let count = 0; for (let i = 0; i < data.length; i += 4) if (Math.max(data[i], data[i+1], data[i+2]) - Math.min(data[i], data[i+1], data[i+2]) > 30) ++count; return count""")

    def colour(self, time, row):
        """Of the pixels around a time in the middle of a row, each [red, green, blue, alpha]."""
        return self.browser.ask("""const [time, row] = arguments, drawing = viewer.drawing, scale = devicePixelRatio || 1;
            const [x, y] = [drawing.x(viewer.view, time), drawing.y(viewer.view, row + 0.5)];
            const { data } = drawing.context.getImageData(x * scale - 4, y * scale - 4, 8, 8);
            return Array.from({ length: data.length / 4 }, (_, i) => [...data.slice(4 * i, 4 * i + 4)])""", time, row)

    def press(self, *keys):
        """The view when all of them have been answered."""
        self.browser.ask("viewer.turns = 0; viewer.go = function (view) { ++this.turns; Object.getPrototypeOf(this).go.call(this, view) }")
        self.canvas.send_keys(*keys)
        self.until(f"viewer.turns === {len(keys)}", "a key is not answered")
        self.browser.ask("delete viewer.go")
        return self.view()


@pytest.fixture
def page(browser, address):
    return Page(browser, address)


def width(view):
    return view["end"] - view["begin"]


def test_all_is_shown_at_first_and_nothing_complains(page):
    view = page.view()
    assert (view["first"], view["last"], view["begin"]) == (0, 3, 0) and width(view) > 0.9 * SECOND
    assert page.colours() > 5000
    assert [one.text for one in page.driver.find_elements(By.CSS_SELECTOR, "#names text")] == ["rank 0", "rank 1", "rank 2"]
    assert page.browser.complaints() == []
    assert page.browser.ask("return document.documentElement.scrollWidth <= innerWidth")


def test_the_wheel_zooms_at_the_pointer_and_dragging_moves(page):
    before = page.view()
    origin = ScrollOrigin.from_element(page.canvas, 0, 0)  # its middle
    ActionChains(page.driver).scroll_from_origin(origin, 0, -600).perform()
    near = page.view_when(lambda view: width(view) < 0.3 * width(before), "the wheel does not zoom")
    middle = [(one["begin"] + one["end"]) / 2 for one in (before, near)]
    assert abs(middle[0] - middle[1]) < 0.02 * width(before)
    ActionChains(page.driver).drag_and_drop_by_offset(page.canvas, -200, 0).perform()
    moved = page.view_when(lambda view: view["begin"] > near["begin"], "dragging does not move")
    assert abs(width(moved) - width(near)) < 1000
    ActionChains(page.driver).double_click(page.canvas).perform()
    page.view_when(lambda view: view == before, "a double click does not show all")


def test_the_keyboard_does_the_same(page):
    before = page.view()
    near = page.press("+", "+")
    assert width(near) < 0.5 * width(before)
    assert page.press(Keys.ARROW_RIGHT)["begin"] > near["begin"]
    rows = page.press(Keys.PAGE_DOWN)
    assert rows["last"] - rows["first"] < 3
    assert page.press(Keys.ARROW_DOWN)["first"] > rows["first"]
    assert page.press("0") == before


def test_the_address_leads_to_the_same_place(page, browser):
    page.press("+", "+", Keys.ARROW_RIGHT)
    there, link = page.view(), page.driver.current_url
    again = Page(browser, link).view()
    assert all(abs(again[key] - there[key]) < 1 for key in there)


def test_pointing_names_the_calls(page):
    page.browser.ask("viewer.go({begin: 10e6, end: 14e6, first: 0, last: 3})")
    page.drawn()
    ActionChains(page.driver).move_to_element_with_offset(page.canvas, 3, 0).perform()
    page.until("document.querySelector('#stack .call')", "no call is under the pointer")
    assert "pwrite" in page.driver.find_element(By.ID, "stack").text and "/data/out" in page.driver.find_element(By.ID, "stack").text


def test_an_area_is_counted(page):
    ActionChains(page.driver).move_to_element_with_offset(page.canvas, -200, -100).key_down(Keys.SHIFT).click_and_hold().move_by_offset(300, 50).release().key_up(Keys.SHIFT).perform()
    page.until("document.querySelector('#statistics td')", "nothing was counted")
    assert "pwrite" in page.driver.find_element(By.ID, "statistics").text
    assert page.browser.ask("return document.getElementById('selected').hidden")


def test_a_finding_leads_to_its_place_and_its_question(page):
    page.until("document.querySelector('#findings button')", "no finding comes")
    buttons = page.driver.find_elements(By.CSS_SELECTOR, "#findings button")
    assert buttons[0].text.startswith("I3 high")
    page.press("+", "+", Keys.ARROW_RIGHT)
    buttons[0].click()
    page.view_when(lambda view: view["first"] == 0 and view["last"] == 3 and width(view) > 0.8 * SECOND, "the finding does not lead to its place")
    assert page.driver.find_element(By.ID, "words").get_attribute("value").startswith("select ")
    page.driver.find_element(By.CSS_SELECTOR, "#ask button").click()
    page.until("document.querySelector('#answer td')", "the finding's question has no answer")


def test_findings_of_a_large_recording_are_looked_for_when_somebody_asks(page):
    page.until("document.querySelector('#findings button')", "no finding comes")
    page.browser.ask("viewer.about.searched = viewer.about.calls - 1; viewer.offerFindings()")
    [button] = page.driver.find_elements(By.CSS_SELECTOR, "#findings button")
    assert button.text == "Look for findings in 6,093 calls"
    button.click()
    page.until("document.querySelector('#findings small')", "no finding comes")


def test_questions_are_answered_with_a_picture_or_a_sentence(page):
    box = page.driver.find_element(By.ID, "words")
    box.send_keys("Latency Breakdown Exclusive [0-1]" + Keys.ENTER)
    page.until("document.querySelector('#answer img') && document.querySelector('#answer img').naturalWidth > 100", "no picture")
    assert "posix" in page.driver.find_element(By.ID, "answer").text
    box.clear()
    box.send_keys("select nothing" + Keys.ENTER)
    page.until("document.querySelector('#answer .error')", "no error is shown")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("wide", [1280, 400])
def test_everybody_can_use_it(browser, address, wide, scheme):
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    try:
        page = Page(browser, address, wide)
        page.browser.ask("viewer.count(viewer.shown())")
        page.until("document.querySelector('#statistics td')", "nothing was counted")
        assert browser.violations() == []
        assert page.browser.ask("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_without_a_server_shows_the_same(browser, run, page, tmp_path):
    page.browser.ask("viewer.go({begin: 10e6, end: 200e6, first: 0, last: 3})")
    page.drawn()
    served = page.colours()
    subprocess.run([sys.executable, "-m", "damaris.verbs", "view", str(run), "-o", str(tmp_path / "page.html")], check=True)
    alone = Page(browser, tmp_path / "page.html")
    alone.browser.ask("viewer.go({begin: 10e6, end: 200e6, first: 0, last: 3})")
    alone.drawn()
    assert abs(alone.colours() - served) < 0.1 * served  # the one takes the longest bin of a pixel, the other the pixel
    assert browser.requests() == [] and browser.complaints() == []
    ActionChains(alone.driver).move_to_element_with_offset(alone.canvas, -250, 0).perform()
    alone.until("document.querySelector('#stack .call')", "no call is under the pointer")
    alone.browser.ask("viewer.count(viewer.shown())")
    assert re.search(r"MPI_Barrier\s+6", alone.until("document.querySelector('#statistics tbody') && document.querySelector('#statistics').innerText", "nothing was counted"))


def test_a_page_without_a_server_counts_each_call_once(browser, tmp_path):
    """Not those in another call of the same layer, too; as the server does."""
    folder = tmp_path / "run"
    slots = raw.process() + raw.call(NUMBER("H5Dread"), 1 * MS, 2 * MS, depth=1) + raw.call(NUMBER("H5Dread"), 0, 4 * MS)
    raw.write(folder, raw.chunk(slots))
    subprocess.run([sys.executable, "-m", "damaris.verbs", "view", str(folder), "-o", str(tmp_path / "page.html")], check=True)
    with viewing(folder) as address:
        for page in (Page(browser, address), Page(browser, tmp_path / "page.html")):
            page.browser.ask("viewer.count(viewer.all)")
            found = page.until("document.querySelector('#statistics tbody') && document.querySelector('#statistics tbody').innerText", "nothing was counted")
            assert re.search(r"hdf5\s+H5Dread\s+1\s+0\s+0.004", found)


def test_a_recording_without_a_call_complains_of_nothing(browser, tmp_path):
    raw.write(tmp_path / "run", raw.chunk(raw.process()))
    with viewing(tmp_path / "run") as address:
        page = Page(browser, address)
        page.until("document.getElementById('findings').innerText.includes('Nothing costs much')", "findings are not looked for")
        assert page.browser.complaints() == [] and page.browser.ask("return document.getElementById('state').textContent") == ""


def test_long_names_have_room_and_many_rows_a_picture(browser, tmp_path):
    chunks = [raw.chunk(raw.process(host="a-host-with-quite-a-long-name") + raw.call(NUMBER("pwrite"), 0, MS), identity=1)]
    chunks += [raw.chunk(raw.call(NUMBER("pwrite"), 0, MS), thread=thread) for thread in range(1, 20)]
    raw.write(tmp_path / "run", *chunks)
    raw.write(tmp_path / "run", raw.chunk(raw.process(pid=7, rank=0, ranks=1, host="another")), name="another.7.1")
    with viewing(tmp_path / "run") as address:
        page = Page(browser, address)
        left, names = page.browser.ask("""return [document.getElementById('names').getBoundingClientRect().left,
            [...document.querySelectorAll('#names text')].map(one => [one.getBoundingClientRect().left, one.textContent])]""")
        assert min(at for at, _ in names) >= left and all(name.startswith("model 100 on") and "thread" in name for _, name in names)
        page.browser.ask("viewer.about.pixels = 200; viewer.go({begin: 0, end: 1e6, first: 0, last: 20})")
        page.drawn()
        page.until("viewer.drawing.raster.image.width === 10", "the picture is not coarser")


def test_an_address_without_its_token_shows_nothing(browser, address):
    browser.driver.get(address)
    browser.driver.delete_all_cookies()
    browser.driver.get(re.sub(r"\?token=.*", "", address))
    assert "Open the address that damaris view printed" in browser.ask("return document.body.innerText")


@pytest.fixture(scope="module")
def harmed(tmp_path_factory):
    """A second of writes, from 0.3 s on the recorder's own writing, from 0.6 to 0.8 s a chunk that is missing."""
    folder, functions = tmp_path_factory.mktemp("harmed") / "run", kernel.functions()
    own = NUMBER("fsync")
    layer, functions.layer[own] = functions.layer[own], "recorder"  # as its flushes are
    try:
        def writes(begin, end):
            return b"".join(raw.call(NUMBER("pwrite"), at * MS, (at + 9) * MS) for at in range(begin, end, 10))

        first = raw.process(pid=100) + writes(0, 300) + raw.call(own, 300 * MS, 400 * MS) + writes(400, 600)
        raw.write(folder, raw.chunk(first), raw.chunk(writes(800, 1000) + raw.end(SECOND), sequence=2))
        damaris.open(folder)
    finally:
        functions.layer[own] = layer
    return folder


@pytest.mark.parametrize("served", [True, False])
def test_the_recorders_own_time_and_missing_calls_have_looks_of_their_own(browser, harmed, tmp_path, served):
    with viewing(harmed) as address:
        if not served:
            subprocess.run([sys.executable, "-m", "damaris.verbs", "view", str(harmed), "-o", str(tmp_path / "page.html")], check=True)
        page = Page(browser, address if served else tmp_path / "page.html")
        assert page.browser.ask("return viewer.about.lost") == [[599 * MS, 800 * MS, 0]]
        near = [page.colour(at * MS, 0) for at in (150, 350, 700, 900)]
        writes, own, lost, behind = [{tuple(one[:3]) for one in pixels} for pixels in near]
        assert any(red > blue + 100 for red, _, blue in writes) and writes & behind
        assert all(max(one) - min(one) < 10 for one in own) and not own & writes  # grey
        assert (255, 255, 255) in lost and any(red > 150 and green < 50 for red, green, _ in lost)
        assert page.browser.ask("return [...document.querySelectorAll('#legend li')].map((one) => one.innerText.trim())")[-2:] == ["recorder", "calls are missing"]
        # However far away, a gap is seen.
        page.browser.ask("viewer.within = (view) => view; viewer.go({begin: -1e12, end: 1e12, first: 0, last: 1})")
        page.drawn()
        assert any(red > 150 and green < 50 for red, green, _, alpha in page.colour(700 * MS, 0) if alpha)
        page.browser.ask("delete viewer.within; viewer.go(viewer.all)")
        page.drawn()
        width, middle = page.canvas.size["width"], page.canvas.size["width"] / 2
        ActionChains(page.driver).move_to_element_with_offset(page.canvas, int(0.7 * width - middle), 0).perform()
        page.until("document.querySelector('#stack').innerText.includes('calls are missing here')", "the gap is not named")
        assert page.browser.violations() == []

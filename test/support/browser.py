"""A headless Chromium without network, as readers see a page: at a width, printed, and judged by axe-core."""

import base64
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

LIMIT_S = 150  # for a page to load, or a script to answer, where others use the cores
INSIDE = ("file:", "data:", "blob:", "about:")


def why_none() -> str:
    """Why there is no browser here; empty if there is one."""
    missing = [name for name in ("chromium", "chromedriver", "pdftotext", "pdftoppm") if not shutil.which(name)]
    return f"{', '.join(missing)} is not installed" if missing else ""


class Browser:
    """One window. `open` again for another width, so that the page is laid out anew."""

    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        self.profile = tempfile.TemporaryDirectory(prefix="damaris-browser-", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-crash-reporter", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                     f"--user-data-dir={self.profile.name}"):  # fmt: skip
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        self.driver.set_page_load_timeout(LIMIT_S)
        self.driver.set_script_timeout(LIMIT_S)

    def close(self) -> None:
        self.driver.quit()
        self.profile.cleanup()

    def open(self, page: Path | str, width: int) -> None:
        """A file, or an address on this machine."""
        self.driver.get_log("browser"), self.driver.get_log("performance")  # of the page before
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.driver.get(page if isinstance(page, str) else page.absolute().as_uri())

    def ask(self, script: str, *arguments):
        """What a script in the page returns."""
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """What the page's scripts wrote to the console as errors and warnings."""
        return [line["message"] for line in self.driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """What the page asked others for."""
        events = [json.loads(line["message"])["message"] for line in self.driver.get_log("performance")]
        asked = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [one["request"]["url"] for one in asked if one["documentURL"] == self.driver.current_url and not one["request"]["url"].startswith(INSIDE)]

    def violations(self) -> list[str]:
        """What axe-core finds, with the places."""
        from importlib import resources

        self.driver.execute_script(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
        found = self.driver.execute_async_script("const done = arguments[0]; axe.run().then(found => done(found.violations))")
        return [f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}" for one in found]

    def screenshot(self, path: Path) -> None:
        """Of the whole page."""
        made = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(made["data"]))

    def print(self, path: Path) -> None:
        made = self.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})  # A4, in inches
        path.write_bytes(base64.b64decode(made["data"]))


def printed_text(pdf: Path) -> str:
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True, text=True).stdout
    return " ".join(text.split())


def printed_pages(pdf: Path, folder: Path) -> list:
    """Each page as an array of grey values."""
    import matplotlib.image

    subprocess.run(["pdftoppm", "-r", "40", "-png", "-gray", pdf, folder / "page"], check=True)
    return [matplotlib.image.imread(path) for path in sorted(folder.glob("page-*.png"))]

"""01: a tile per client and step, also as h5dump shows it, and as docs/file-format.md reads it."""

import glob
import os
import pathlib
import re
import subprocess

from written import described, file_of_each_step, same

for step, file in enumerate(file_of_each_step("first_write", 3)):
    assert list(file) == ["temperature"], "one dataset for both clients"
    tiles = file["temperature"]
    same(tiles, [[[1000 * step + 100 * rank + 10 * j + i for i in range(8)] for j in range(4)] for rank in range(2)], "f8")
    described(tiles, units="K", long_name="Temperature of the air", iteration=step, layout="tile")
    assert tiles.attrs["sources"].tolist() == [0, 1]

shown = subprocess.run(["h5dump", "-d", "/temperature", *glob.glob("first_write.*.i2.h5")], capture_output=True, text=True, check=True)
assert "(1,3,0): 2130, 2131, 2132, 2133, 2134, 2135, 2136, 2137" in shown.stdout, shown.stdout

page = (pathlib.Path(os.environ["DAMARIS_SOURCE_DIR"]) / "docs" / "file-format.md").read_text()
blocks = re.findall(r"```(\w+)\n(.*?)```", page[page.index("## Reading"):], re.DOTALL)
reading = {language: code for language, code in blocks if "first_write" in code}
assert "2137" in subprocess.run(["sh", "-e", "-c", reading["sh"]], capture_output=True, text=True, check=True).stdout
read = {}
exec(reading["python"], read)
assert float(read["mean"][1]) == 2118.5 and read["tile"].shape == (4, 8)

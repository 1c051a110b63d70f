"""02: two fields joined to global arrays without their halo, and a number per client; the run as docs/file-format.md reads it."""

import os
import pathlib
import re
import subprocess

from written import described, file_of_each_step, same

for step, file in enumerate(file_of_each_step("several_variables", 2)):
    places = [[1000 * step + 100 * j + i for i in range(12)] for j in range(4)]
    same(file["fields/temperature"], places, "f4")
    same(file["fields/pressure"], [[place + 0.5 for place in row] for row in places], "f8")
    described(file["fields/temperature"], units="K", long_name="Temperature of the air", iteration=step, layout="field")
    described(file["fields/pressure"], units="Pa", layout="fine_field")
    assert file["fields/pressure"].compression == "gzip" and file["fields/pressure"].shuffle, "filters of the XML"
    assert file.attrs["time"] == 0.25 * step, "physical time of the step"
    numbers = file["iterations"]
    assert numbers.dtype == "i4" and numbers[...].ravel().tolist() == [10 * step, 10 * step + 1], f"{numbers.name}: {numbers[...]}"

shown = subprocess.run(["h5dump", "-d", "/fields/temperature", "several_variables.h5"], capture_output=True, text=True, check=True)
assert "(1,3,0): 1300, 1301, 1302" in shown.stdout, shown.stdout

page = (pathlib.Path(os.environ["DAMARIS_SOURCE_DIR"]) / "docs" / "file-format.md").read_text()
[reading] = [code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "several_variables.h5" in code]
read = {}
exec(reading, read)
assert read["warmest"].dims == ("time",) and read["warmest"].values.tolist() == [311, 1311], read["warmest"]
assert read["fields"]["pressure"].attrs["units"] == "Pa"

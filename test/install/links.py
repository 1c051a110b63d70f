#!/usr/bin/env python3
"""links.py FOLDER: each link of a page in FOLDER leads to a file in it, or to a source of the project that is not installed."""

import re
import sys
from pathlib import Path

SOURCES = ("src", "include", "bench", "test", "scripts", "python", "config-schemas", "dev", ".ci")
root = Path(sys.argv[1]).resolve()
pages = sorted(root.rglob("*.md"))
broken = []
for page in pages:
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", page.read_text()):
        target = (page.parent / link).resolve()
        if "://" in link or target.exists():
            continue
        if not target.is_relative_to(root) or target.relative_to(root).parts[0] not in SOURCES:
            broken.append(f"{page.relative_to(root)}: {link} is not there")
print("\n".join([*broken, f"{len(pages)} pages, {len(broken)} broken links"]))
sys.exit(1 if broken or not pages else 0)

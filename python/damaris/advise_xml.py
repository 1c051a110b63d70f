"""A starting XML of a recording: its variables, by the names that HDF5 knows, else by files and sizes."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from pathlib import PurePosixPath
from xml.etree import ElementTree

from damaris.advise import Advice, bursts, writers
from damaris.plan import Plan
from damaris.store import Recording

TYPES = {f"{kind}{bits}": f"{ours}{bits}" for kind, ours in (("float", "real"), ("int", "int"), ("uint", "uint")) for bits in (8, 16, 32, 64) if (ours, bits) not in (("real", 8), ("real", 16))}
MOST_VARIABLES = 500
DATASETS = """
select d.name, d.attributes['type'] as type, d.attributes['extents'] as extents, c.bytes, count(*) as count
from calls c join objects d on d.id = c.object where c.layer = 'hdf5' and c.kind = 'write' and d.kind = 'dataset' and c.bytes > 0
group by all order by min(c."begin"), d.name"""


def plain(name: str) -> str:
    """As a name in an XML may be."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".-")[:100] or "_"


class Starting:
    """The XML as it is built."""

    def __init__(self, advice: Advice, program: str):
        self.root = ElementTree.Element("simulation", name=plain(program))
        architecture = ElementTree.SubElement(self.root, "architecture")
        ElementTree.SubElement(architecture, "dedicated", cores=str(advice.cores or 1))
        size = f"{advice.buffer_bytes >> 20 or 64}MiB"
        ElementTree.SubElement(architecture, "buffer", {"size": size, "timeout": "30s", "on-full": advice.on_full})
        self.data = ElementTree.SubElement(self.root, "data")
        ElementTree.SubElement(ElementTree.SubElement(self.root, "storage"), "hdf5", basename=plain(program))
        self.layouts: dict[tuple, str] = {}
        self.groups: dict[tuple[str, ...], ElementTree.Element] = {(): self.data}
        self.names: set[tuple] = set()
        self.count = 0

    def layout(self, kind: str, extents: tuple[int, ...], whole: tuple[int, ...]) -> str:
        key = kind, extents, whole
        if key not in self.layouts:
            name = f"{kind}_{'x'.join(map(str, extents)) or 'scalar'}"
            name += f"_of_{'x'.join(map(str, whole))}" if whole else ""
            more = {"global": ",".join(map(str, whole))} if whole else {}
            self.data.insert(len(self.layouts), ElementTree.Element("layout", name=name, type=kind, dimensions=",".join(map(str, extents)), **more))
            self.layouts[key] = name
        return self.layouts[key]

    def group(self, path: tuple[str, ...]) -> ElementTree.Element:
        if path not in self.groups:
            self.groups[path] = ElementTree.SubElement(self.group(path[:-1]), "group", name=path[-1])
        return self.groups[path]

    def variable(self, path: tuple[str, ...], name: str, layout: str, about: str = "") -> None:
        if self.count < MOST_VARIABLES and (path, name) not in self.names:
            self.names.add((path, name))
            self.count += 1
            ElementTree.SubElement(self.group(path), "variable", name=name, layout=layout, **({"description": about} if about else {}))

    def text(self, about: str) -> str:
        ElementTree.indent(self.root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {re.sub("-(?=-)", "- ", about)} -->\n{ElementTree.tostring(self.root, encoding="unicode")}\n'


def parts(extents: tuple[int, ...], elements: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents of a write of so many elements, and those of the whole array if it is a part of that."""
    rest = math.prod(extents[1:])
    if math.prod(extents) == elements:
        return extents, ()
    if extents and rest and elements % rest == 0 and elements // rest <= extents[0]:
        return (elements // rest, *extents[1:]), extents
    return (elements,), ()


def add_datasets(xml: Starting, recording: Recording) -> None:
    found: dict[tuple, Counter] = defaultdict(Counter)
    for name, kind, extents, size, count in recording.query(DATASETS).fetchall():
        if kind in TYPES and size % (int(re.sub(r"\D", "", kind)) // 8) == 0:
            *groups, last = [plain(one) for one in PurePosixPath(name).parts if one != "/"]
            # Groups that are numbered are those of steps, which Damaris numbers itself.
            path = tuple(re.sub(r"[0-9]+", "", one).strip("_-.") for one in groups)
            whole = tuple(int(one) for one in extents.split("x") if one) if extents else ()
            found[tuple(one for one in path if one), last][kind, whole, size * 8 // int(re.sub(r"\D", "", kind))] += count
    groups = {path[: i + 1] for path, _ in found for i in range(len(path))}
    for (path, name), shapes in found.items():
        (kind, whole, elements), _ = shapes.most_common(1)[0]
        own, all_of_it = parts(whole, elements)
        about = "" if len(shapes) == 1 else "its extents differ: set them with dc_set_shape"
        name += "_" * ((*path, name) in groups)  # no variable has the path of a group
        xml.variable(path, name, xml.layout(TYPES[kind], own, all_of_it), about)


def sort_of(path: str) -> str:
    """Of data/out0001.3.h5: out."""
    return re.sub(r"[._-]{2,}", "_", re.sub(r"[0-9]+", "", PurePosixPath(path).stem)).strip("._-")


def add_files(xml: Starting, plan: Plan) -> None:
    """A variable for each sort of file that gets large blocks, numbers in the name aside, of what a process mostly writes at once."""
    written, sizes = writers(plan), defaultdict(Counter)
    for process in plan.processes:
        for burst in bursts(process):
            for which, size in burst.items():
                if which in written:
                    sizes[sort_of(plan.files[which].name)][size] += 1
    for name, counts in sizes.items():
        xml.variable((), plain(name), xml.layout("uint8", (counts.most_common(1)[0][0],), ()), "bytes of a process in an output: give its type and extents")


def xml_of(recording: Recording, plan: Plan, advice: Advice, program: str) -> tuple[str, int]:
    """The XML, and how many variables it has."""
    xml = Starting(advice, program)
    add_datasets(xml, recording)
    if not xml.count:
        add_files(xml, plan)
    about = f"A start, made of a recording of {program}: fastest was {advice.best}. Look at each layout, and at what the program calls its variables."
    return xml.text(about), xml.count

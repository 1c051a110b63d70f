#!/usr/bin/env python3
"""Writes the recorder's wrappers from probe tables: generate.py OUTPUT_FOLDER TABLE.toml...

A table has a layer, the headers that declare its functions, and:
  errors  errno, negative (the result is the error), nonzero (so is any but 0)
  real    caller: a process may have several libraries with these functions; the one of the caller counts
  prefix  each function has a second name with it: P for MPI
  first   a statement before all else that the wrapper of a recorded call does
A line of a table is `KIND PROTOTYPE | KEY=EXPRESSION...`, in C++ without blanks; $ is the result, @ what `before` gave,
real_address where the real function is. Keys:
  before  asked before the call
  object  which object the call is about, a number of objects.hpp; asked before the call
  after   the same, asked after the call if it did not fail
  bytes   what it moved; asks: what it was asked to, of a write
  place   its offset, `implicit` for the one of the descriptor; message(PEER,TAG), root, step, flags, or of_comm(COMM), whose members call it together
  also    other names of the same function, each with its own wrapper
  list    the function that takes the arguments behind `...` as a va_list
  mode    the parameter with the flags by which open has a mode behind `...`
  more    the type of the one argument behind `...`
  status  the parameter that the program may leave out with MPI_STATUS_IGNORE
  statuses  the same of MPI_STATUSES_IGNORE
  starts  the request that it made
  waits   COUNT,REQUESTS that it may complete, which it sets to null
  ends    a call of mpi::Waiting that tells which of them it completed, or another statement about requests
  silent  1: what happens inside is not recorded
A table with `told` instead of `calls` names calls of which the program tells by itself: `KIND NAME PLACE`.
Output: wrappers_LAYER.cpp, or LAYER_calls.hpp, functions.json, by which a reader names numbers, and exports.map, the names that programs see.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

LAYERS = ("posix", "stdio", "mpi", "mpiio", "hdf5", "damaris", "server", "recorder")  # a layer's functions have the same numbers in every build
FIRST, STRIDE = 16, 100  # trace::kFirstCall
OWN = ("flush", "synchronise")  # of the layer recorder, trace::kFlush and on
PROTOTYPE = re.compile(r"(?P<kind>\w+) (?P<result>.*?[ *])(?P<name>\w+)\((?P<parameters>.*)\)$")
PARAMETER = re.compile(r"(?P<type>.*?[ *])(?P<name>\w+)(?P<array>\[\d*\])?$")
KEYS = {"before", "object", "after", "bytes", "asks", "place", "also", "list", "mode", "more", "status", "silent", "statuses", "starts", "waits", "ends"}
ERRORS = {
    "errno": "is_negative(result), errno",
    "negative": "is_negative(result), static_cast<int>(result)",
    "nonzero": "result != 0, result",
}
WRAPPER = """\
extern "C" __attribute__((visibility("default"))) {result} wrap_{name}({parameters}) __asm__("{name}");
extern "C" {result} wrap_{name}({parameters}) {{
{body}}}
"""


class Probe:
    def __init__(self, line, table):
        declaration, _, keys = (part.strip() for part in line.partition("|"))
        match = PROTOTYPE.match(declaration)
        if not match:
            sys.exit(f"generate.py: not KIND PROTOTYPE: {line}")
        self.table = table
        self.kind, self.result, self.name = match["kind"], match["result"].strip(), match["name"]
        self.parameters = [] if match["parameters"] in ("void", "") else [part.strip() for part in match["parameters"].split(",")]
        self.keys = dict(key.split("=", 1) for key in keys.split())
        if unknown := set(self.keys) - KEYS:
            sys.exit(f"generate.py: unknown {', '.join(unknown)} in: {line}")
        self.named = [PARAMETER.match(part) for part in self.parameters if part != "..."]

    def names(self):
        names = [self.name, *filter(None, self.keys.get("also", "").split(","))]
        return names + [self.table["prefix"] + name for name in names if "prefix" in self.table]

    def is_first(self):
        """Whether a process is recorded from this call on, see Call::enter."""
        return "false" if self.kind == "close" or self.name.startswith("dup") else "true"

    def is_agreed_on(self):
        """Whether all processes of a communicator call it in the same order."""
        return self.table["layer"] == "mpi" and self.kind == "collective" and "MPI_Comm comm" in self.parameters

    def role(self):
        """What `place` is to a reader."""
        place = self.keys.get("place")
        known = {None: None, "root": "root", "step": "step", "flags": "flags"}
        called = {"message": "peer", "mpi::of_comm": "comm", "flags_of": "flags"}.get((place or "").partition("(")[0], "offset")
        return "flags" if (place or "").startswith("O_") else known.get(place, called)

    def expression(self, key, default="0"):
        return self.keys.get(key, default).replace("$", "result").replace("@", "before")

    def place(self):
        place = self.expression("place", "trace::kNowhere")
        return "trace::kImplicit" if place == "implicit" else f"static_cast<std::int64_t>({place})"

    def real(self, name):
        """The type and name of the real function, and what it is called with."""
        types = [one["type"].strip() + ("*" if one["array"] else "") for one in self.named]
        arguments = [one["name"] for one in self.named]
        for key in ("mode", "more"):
            if key in self.keys:
                return f"{self.result}({', '.join([*types, '...'])})", name, [*arguments, key]
        if "list" in self.keys:
            return f"{self.result}({', '.join([*types, 'va_list'])})", self.keys["list"], [*arguments, "list"]
        return f"{self.result}({', '.join(types)})", name, arguments

    def beginning(self, number):
        lines = ["std::uint32_t object = 0;"]
        for variable in ("before", "object"):
            if variable in self.keys:
                if variable == "before":
                    lines.insert(0, f"decltype({self.keys['before']}) before{{}};")
                asked = f"{variable} = {self.keys[variable]};"
                # Descriptors are looked up without a library.
                lines.append(f"if (recorded) {asked}" if self.table["errors"] == "errno" else f"if (recorded) call.look([&] {{ {asked} }});")
        if "asks" in self.keys:
            return [*lines, f"if (recorded) call.begin_write({number}, object, moved({self.keys['asks']}), {self.place()});"]
        return [*lines, "if (recorded) call.begin();", *(["if (recorded) call.be_silent();"] if "silent" in self.keys else [])]

    def ending(self, number):
        """Of a call that failed, and of one that is not recorded, no library is asked. But bytes of a write that is not recorded count: they
        are among those that the kernel saw."""
        counted = self.kind == "write" and self.table["errors"] == "errno"
        bytes_, end = self.expression("bytes"), "return;" if self.result == "void" else "return result;"
        agreed = "if (together) mpi::flush_together(); " if self.is_agreed_on() else ""
        lines = [f"if (!recorded) {{ {agreed}{f'count_unrecorded(moved({bytes_})); ' if counted else ''}{end} }}"]
        lines.append(f"call.returned({ERRORS[self.table['errors']]});")
        if "after" in self.keys:
            lines.append(f"if (!call.failed) object = {self.expression('after')};")
        lines.append(f"const std::uint64_t bytes = call.failed ? 0 : moved({bytes_});")
        if counted:
            lines.append("if (object == kDropped) count_unrecorded(bytes);")
        lines.append(f"call.write({number}, object, bytes, call.failed ? trace::kNowhere : {self.place()});")
        if "starts" in self.keys:
            lines.append(f"if (!call.failed) mpi::started(call,{self.keys['starts']});")
        if "ends" in self.keys:
            lines.append(f"if (!call.failed) {self.keys['ends']};")
        if self.is_agreed_on():
            lines.append("if (together) mpi::flush_together();")
        return [*lines, "call.end();", end]

    def wrapper(self, name, number):
        signature, real_name, arguments = self.real(name)
        lines = []
        if not name.startswith(("_", "putc")):  # those are in no header, or macros
            own = f"{self.result}({', '.join([one['type'].strip() + ('*' if one['array'] else '') for one in self.named] + ['...'] * ('...' in self.parameters))})"
            lines.append(f'static_assert(kSame<decltype(::{name}), {own}>, "the header has another {name}");')
        if "..." in self.parameters:
            lines += ["va_list list;", f"va_start(list, {self.named[-1]['name']});"]
        if "mode" in self.keys:
            lines += [f"const mode_t mode = has_mode({self.keys['mode']}) ? va_arg(list, mode_t) : 0;", "va_end(list);"]
        if "more" in self.keys:
            lines += [f"{self.keys['more']} const more = va_arg(list, {self.keys['more']});", "va_end(list);"]
        kind = "RealOfCaller" if self.table.get("real") == "caller" else "Real"
        variable = f'static constinit {kind}<{signature}> real_{name}{{"{real_name}"}};'
        lines += [f"const auto function = real_{name}.function(reinterpret_cast<const void*>(&wrap_{name}), __builtin_return_address(0));",
                  f"if (__builtin_expect(function == nullptr, 0)) return missing<{self.result}>();"]  # fmt: skip
        if "status" in self.keys:
            status = self.keys["status"]
            lines += ["MPI_Status own{};", f"if ({status} == MPI_STATUS_IGNORE) {status} = &own;"]
        if "real_address" in "".join([*self.keys.values(), self.table.get("first", "")]):
            lines.append("const void* const real_address = reinterpret_cast<const void*>(function);")
        lines += ["Call call;", f"const bool recorded = call.enter(__builtin_frame_address(0), {self.is_first()});"]
        if "first" in self.table:
            lines.append(f"if (recorded) {self.table['first']};")
        if self.is_agreed_on():
            lines.insert(-1 if "first" in self.table else len(lines), "const bool together = mpi::counts_together(real_address, comm);")
        if "waits" in self.keys:
            lines.append(f"mpi::Waiting waiting(recorded, {self.keys['waits']});")
        if "statuses" in self.keys:
            lines.append(f"if (recorded && {self.keys['statuses']} == MPI_STATUSES_IGNORE) {self.keys['statuses']} = waiting.statuses();")
        called = f"function({', '.join(arguments)});"
        lines += [*self.beginning(number), f"{called} const int result = 0;" if self.result == "void" else f"const auto result = {called}"]
        lines += ["va_end(list);"] if "list" in self.keys else []
        lines += self.ending(number)
        return f"{variable}\n" + WRAPPER.format(result=self.result, name=name, parameters=", ".join(self.parameters) or "void",
                              body="".join(f"  {line}\n" for line in lines))  # fmt: skip


def told(table, folder):
    """The functions of a table without wrappers, and a header with their numbers."""
    layer = table["layer"]
    functions = []
    for number, line in enumerate(table["told"], FIRST + STRIDE * LAYERS.index(layer)):
        kind, name, place = line.split()
        functions.append({"number": number, "name": name, "layer": layer, "kind": kind, "place": None if place == "-" else place})
    rows = "".join(f'    {{"{one["name"]}", {one["number"]}}},\n' for one in functions)
    title = layer.capitalize()
    (folder / f"recorder/{layer}_calls.hpp").write_text(
        f"// Generated by generate.py; edit the table instead.\n#pragma once\n\n#include <cstdint>\n\nnamespace damaris::recorder {{\n\n"
        f"struct {title}Call {{\n  const char* name;\n  std::uint16_t number;\n}};\nconstexpr {title}Call k{title}Calls[] = {{\n{rows}}};\n\n}}\n")  # fmt: skip
    return functions


def main():
    folder = Path(sys.argv[1])
    (folder / "recorder").mkdir(exist_ok=True)
    functions, names = [], []
    for path in sys.argv[2:]:
        table = tomllib.loads(Path(path).read_text())
        layer = table["layer"]
        if "told" in table:
            functions += told(table, folder)
            continue
        text = "// Generated by generate.py; edit the table instead.\n"
        text += "".join(f"#include <{header}>\n" for header in table["headers"])
        text += "\n#include <cstdarg>\n\n" + "".join(f'#include "recorder/{one}.hpp"\n' for one in ("call", "objects", *table.get("own", [])))
        text += "\nusing namespace damaris;\nusing namespace damaris::recorder;\nusing trace::message;\n\n"
        first, own = FIRST + STRIDE * LAYERS.index(layer), []
        if len(table["calls"]) > STRIDE:
            sys.exit(f"generate.py: {path} has more than {STRIDE} functions")
        for number, line in enumerate(table["calls"], first):
            probe = Probe(line, table)
            text += "".join(probe.wrapper(name, number) + "\n" for name in probe.names())
            names += probe.names()
            own += probe.names()
            functions.append({"number": number, "name": probe.name, "layer": layer, "kind": probe.kind, "place": probe.role()})
        if table["errors"] == "errno":
            looks = "".join(f"  real_{name}.look();\n" for name in own)
            text += f"namespace damaris::recorder {{\nvoid look_up_{layer}() {{\n{looks}}}\n}}\n"
        (folder / f"wrappers_{layer}.cpp").write_text(text)
    own = FIRST + STRIDE * LAYERS.index("recorder")
    functions += [{"number": number, "name": name, "layer": "recorder", "kind": "control", "place": None} for number, name in enumerate(OWN, own)]
    (folder / "functions.json").write_text(json.dumps(functions, indent=1) + "\n")
    special = ("vfork", "_exit", "_Exit", "execve", "execv", "execvp", "execvpe", "execveat", "fexecve", "execl", "execlp", "execle",
               "longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "damaris_recorder_unobserved", "damaris_recorder_region_1", "damaris_recorder_client_2")  # fmt: skip
    (folder / "exports.map").write_text("{\n  global:\n" + "".join(f"    {name};\n" for name in (*names, *special)) + "  local: *;\n};\n")


main()

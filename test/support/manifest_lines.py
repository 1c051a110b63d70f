"""Reads the logs of a manifest by docs/file-format.md alone: nothing of the library is used."""

import json
import re
import zlib

NOT_COLUMNS = ("name", "bytes", "checksum", "datasets", "server")


def logs_of(folder, stem):
    """(generation, host, server, path) of each log of the run, sorted."""
    name = re.compile(re.escape(stem) + r"\.g(\d+)\.([^.]+)\.s(\d+)\.jsonl")
    found = ((name.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), match[2], int(match[3]), path) for match, path in found if match)


def records_of(path, damaged=None):
    """Each record, checked. What is wrong goes into the list `damaged`, or fails. A last line that is cut off is no record."""
    def wrong(what):
        if damaged is None:
            raise AssertionError(f"{path.name}: {what}")
        damaged.append(f"{path.name}: {what}")

    expected = 1
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        body, seal = line[:-20], line[-20:]
        if seal != b',"crc32":"%08x"}' % zlib.crc32(body):
            wrong(f"line {number} has another checksum: {line[:80]}")
            continue
        record = json.loads(line)
        if record["n"] != expected:
            wrong(f"line {number} has the number {record['n']} instead of {expected}")
        expected = record["n"] + 1
        yield record


def steps_of(path, damaged=None):
    """The records about steps, each file with all that is known of its datasets."""
    facts = {}
    for record in records_of(path, damaged):
        if "step" not in record:
            continue
        if "files" in record:
            facts[record["n"]] = record["facts"] if "facts" in record else facts[record["as"]]
            described = zip(facts[record["n"]], record["files"], strict=True)
            record["files"] = [whole_file(its, values) for its, values in described]
        yield record


def whole_file(facts, values):
    columns = {key: column for key, column in values.items() if key not in NOT_COLUMNS}
    datasets = [dict(dataset) for dataset in facts["datasets"]]
    for key, column in columns.items():
        for dataset, value in zip(datasets, column, strict=True):
            if value is not None:
                dataset["checksum" if key == "checksums" else key] = value
    file = {key: values[key] for key in ("name", "bytes", "checksum") if key in values}
    return {**file, "server": facts["server"], "datasets": datasets}

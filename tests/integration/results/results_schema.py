"""Checks a results folder against docs/results.schema.json, and what a schema cannot say.

    python3 results_schema.py FOLDER...

Prints one line for each problem and exits with 1 if there is one. Needs the package jsonschema
(Debian: python3-jsonschema).
"""

import json
import pathlib
import re
import sys

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "results.schema.json").read_text(encoding="utf-8"))

# A folder of whoever ran the campaign has no business in a result.
PERSONAL_PATH = re.compile(r"(?:^|[\s'\"=:(])/(?:home|root|tmp|Users|var/tmp)/")


def of_schema(document, definition):
    """Problems of one document against one definition of the schema."""
    schema = {"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{definition}"}
    validator = jsonschema.Draft202012Validator(schema)
    for error in sorted(validator.iter_errors(document), key=lambda e: list(map(str, e.path))):
        place = "/".join(str(step) for step in error.path) or "the document"
        yield f"{place}: {error.message[:300]}"


def of_texts(value, place=""):
    """Personal paths in any text of a document."""
    if isinstance(value, str):
        if PERSONAL_PATH.search(value):
            yield f"{place}: a path of one machine: {value[:200]!r}"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from of_texts(item, f"{place}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from of_texts(item, f"{place}/{index}")


def of_histograms(value, place=""):
    """Histograms whose count is not the sum of their buckets."""
    if isinstance(value, dict):
        if "sub_bits" in value and "buckets" in value:
            total = sum(bucket[1] for bucket in value["buckets"])
            if total != value["count"]:
                yield f"{place}: 'count' is {value['count']}, the buckets hold {total}"
        for key, item in value.items():
            yield from of_histograms(item, f"{place}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from of_histograms(item, f"{place}/{index}")


def bounds_of(schedule):
    """Bounds of the intervals of a series, and which of them begin the window and the drain."""
    cuts, phases, end = [0], [], 0
    for key in ("warmup_ns", "window_ns", "drain_ns"):
        end += schedule[key]
        while cuts[-1] < end:
            cuts.append(min(cuts[-1] + schedule["interval_ns"], end))
        phases.append(len(cuts) - 1)
    return cuts, phases[0], phases[1]


def of_series(run):
    """Series that do not add up to their counts, of a run that has any."""
    if not run["schedule"] or "interval_ns" not in run["schedule"]:
        return
    cuts, window, drain = bounds_of(run["schedule"])
    for party in ("client", "peer"):
        report = (run[party] or {}).get("report") or {}
        for name, of_all, of_window in (("sent", "sent", "sent_window"), ("arrived", "total", "window"),
                                        ("completed", "completed", "completed_window")):
            part = report.get("receive" if name == "arrived" else "send")
            if not part:
                continue
            counts = part["series"][name]
            if len(counts) > len(cuts):
                yield f"{party}: '{name}' has {len(counts)} intervals, the schedule {len(cuts) - 1}"
            if (sum(counts), sum(counts[window:drain])) != (part[of_all], part[of_window]):
                yield f"{party}: '{name}' by interval does not add up to its counts"
    cpu = run["resources"]["series"]
    if cpu and len(cpu["late_us"]) > len(cuts):
        yield f"CPU times were read at {len(cpu['late_us'])} bounds, the schedule has {len(cuts)}"


def of_runs(document, manifest):
    """What a client's file and the manifest must agree on."""
    points = {point["id"]: point for point in manifest["points"]}
    seen = set()
    for index, run in enumerate(document["runs"]):
        place = f"runs/{index}"
        if run["client_name"] != document["client"]:
            yield f"{place}: of '{run['client_name']}', in the file of '{document['client']}'"
        if run["spec"] != points.get(run["point"]):
            yield f"{place}: the point '{run['point']}' is not the manifest's"
        attempt = (run["point"], run["run"], run["attempt"])
        if attempt in seen:
            yield f"{place}: run {attempt} is there twice"
        seen.add(attempt)
        yield from (f"{place}: {problem}" for problem in of_series(run))
        unknown = {name for name, value in run["metrics"].items() if value is None}
        if unknown != set(run["metrics_unavailable"]):
            yield f"{place}: metrics without a value and reasons differ: {sorted(unknown)}"


def problems_of(folder):
    """All problems of a results folder, each as one line."""
    folder = pathlib.Path(folder)
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"manifest.json: {error}"]
    problems = [f"manifest.json: {p}" for p in of_schema(manifest, "manifest")]
    problems += [f"manifest.json: {p}" for p in of_texts(manifest)]
    if problems:
        return problems
    clients = [client["id"] for client in manifest["clients"]]
    for file in sorted(folder.glob("*.json")):
        if file.name == "manifest.json":
            continue
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            problems.append(f"{file.name}: {error}")
            continue
        if file.name == "standing.json":
            problems += [f"{file.name}: {p}" for p in of_schema(document, "standing")]
            continue
        found = list(of_schema(document, "client_runs"))
        found += of_texts(document)
        found += of_histograms(document)
        if not found:
            found += of_runs(document, manifest)
            if document["client"] not in clients or file.stem != document["client"].replace(":", "_"):
                found.append("the manifest has no such client, or the file has another name")
        problems += [f"{file.name}: {p}" for p in found]
    return problems


def main(folders):
    exit_code = 0
    for folder in folders:
        for problem in problems_of(folder):
            print(f"{folder}: {problem}")
            exit_code = 1
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

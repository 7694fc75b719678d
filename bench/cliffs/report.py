# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench cliffs` prints of its rows, and of two of its JSON files: report.py BEFORE.json AFTER.json."""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "contest"))

import drawing  # noqa: E402

LOW, LOWEST, BESIDE = 0.40, 0.25, 0.9  # shares of the roofline, and the ratio to the better peer


def number(value):
    return f"{value:.2f}" if value is not None else "-"


def worst(rows, heading):
    lines = [("share", "ratio", "us", "case (schedules)")]
    lines += [(number(r["share"]), number(r["ratio"]), f"{r['us']:.1f}", f"{r['name']} ({', '.join(r['schedules'])})")
              for r in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return [heading] + ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) + "  " + line[3] for line in lines]


def counts(rows):
    """[cases, below LOW, below LOWEST, at least BESIDE, geometric mean of the ratios, median of the shares]"""
    ratios = [r["ratio"] for r in rows if r["ratio"]]
    return [len(rows), sum(r["share"] < LOW for r in rows), sum(r["share"] < LOWEST for r in rows),
            f"{np.mean([x >= BESIDE for x in ratios]):.1%}" if ratios else "-",
            f"{np.exp(np.mean(np.log(ratios))):.2f}" if ratios else "-",
            f"{np.median([r['share'] for r in rows]):.2f}" if rows else "-"]


def long(rows, least_us):
    return [r for r in rows if not r["error"] and r["us"] >= least_us]


def by_kind(rows):
    groups = {kind: [r for r in rows if r["kind"] == kind] for kind in dict.fromkeys(r["kind"] for r in rows)}
    return {**groups, "all": rows}


def table(rows):
    head = ["kind", "cases", f"share < {LOW:.2f}", f"< {LOWEST:.2f}", f"ratio >= {BESIDE}", "mean ratio", "median share"]
    return drawing.text_table([head] + [[kind, *map(str, counts(some))] for kind, some in by_kind(rows).items()])


def text(rows, least_us, most):
    counted = long(rows, least_us)
    behind = sorted((r for r in counted if r["ratio"] and r["ratio"] < BESIDE), key=lambda r: r["ratio"])
    lines = worst(sorted(counted, key=lambda r: r["share"])[:most], "farthest from what the machine could do")
    lines += ["", *worst(behind[:most], f"behind the better peer ({len(behind)})"), ""]
    lines += [f"{len(rows)} cases, {len(counted)} of {least_us:g} us or more:", table(counted)]
    return "\n".join(lines + [f"{r['name']}: {r['error']}" for r in rows if r["error"]])


def compared(before, after, least_us=30):
    """A table for people: each kind before and after, of the cases that both have."""
    old = {r["name"]: r for r in before if not r["error"]}
    both = [(old[r["name"]], r) for r in after if not r["error"] and r["name"] in old
            and max(r["us"], old[r["name"]]["us"]) >= least_us]
    lines = [["kind", "cases", f"share < {LOW:.2f}", f"< {LOWEST:.2f}", f"ratio >= {BESIDE}", "mean ratio", "times as fast"]]
    for kind, rows in by_kind([b for _, b in both]).items():
        names = {r["name"] for r in rows}
        sides = [counts([pair[side] for pair in both if pair[1]["name"] in names]) for side in (0, 1)]
        faster = np.exp(np.mean([np.log(a["us"] / b["us"]) for a, b in both if b["name"] in names]))
        lines.append([kind, str(len(rows)), *(f"{sides[0][i]} -> {sides[1][i]}" for i in (1, 2, 3, 4)), f"{faster:.2f}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in [lines[0], ["---"] * len(lines[0]), *lines[1:]])


if __name__ == "__main__":
    files = [pathlib.Path(path) for path in sys.argv[1:]]
    if len(files) != 2 or not all(path.is_file() for path in files):
        print("usage: report.py BEFORE.json AFTER.json, which bench.py --json writes", file=sys.stderr)
        sys.exit(2)
    print(compared(*(json.loads(path.read_text())["rows"] for path in files)))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table at the end of ./dev demo from the JSON that its commands wrote."""
import json
import sys


def load(folder, name, what):
    with open(f"{folder}/{name}.{what}.json", encoding="utf-8") as f:
        return json.load(f)


def main(folder, names):
    rows = []
    for name in names:
        compiled = load(folder, name, "compile")
        compared = load(folder, name, "compare")
        bench = load(folder, name, "bench")
        times = [f'{row["latency_ms"]["p50"]:.3f} ms with {row["threads"]}' for row in bench["rows"]]
        error = max(o["max_abs"] / o["largest"] for o in compared["outputs"])
        rows.append([name, f'{compiled["parameters"] / 1e6:.1f} M', str(compiled["kernels"]),
                     f'{sum(compiled["time_s"].values()):.2f} s', f"{error:.0e}", ", ".join(times)])
    heads = ["network", "weights", "kernels", "compiled in", "largest error", "median, threads"]
    widths = [max(len(r[i]) for r in rows + [heads]) for i in range(len(heads))]
    for row in [heads] + rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

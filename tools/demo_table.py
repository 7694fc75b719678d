#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tables at the end of ./dev demo from the JSON that its commands wrote."""
import json
import sys


def load(folder, name, what):
    with open(f"{folder}/{name}.{what}.json", encoding="utf-8") as f:
        return json.load(f)


def print_table(heads, rows):
    widths = [max(len(r[i]) for r in rows + [heads]) for i in range(len(heads))]
    for row in [heads] + rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip())


def untuned(folder, names):
    rows = []
    for name in names:
        compiled = load(folder, name, "compile")
        compared = load(folder, name, "compare")
        bench = load(folder, name, "bench")
        times = [f'{row["latency_ms"]["p50"]:.3f} ms with {row["threads"]}' for row in bench["rows"]]
        error = max(o["max_abs"] / o["largest"] for o in compared["outputs"])
        rows.append([name, f'{compiled["parameters"] / 1e6:.1f} M', str(compiled["kernels"]),
                     f'{sum(compiled["time_s"].values()):.2f} s', f"{error:.0e}", ", ".join(times)])
    print_table(["network", "weights", "kernels", "compiled in", "largest error", "median, threads"], rows)


def tuned(folder, names):
    """What a tuning run came to: the whole network against its default, and the tasks that gained most."""
    rows = []
    for name in names:
        run = load(folder, name, "tune")
        for m in run["models"]:
            was, now = m["default_ms"], m["tuned_ms"]
            gain = f'{m["ratio"]:.2f}x ({m["low"]:.2f} to {m["high"]:.2f})' if was and now else "-"
            rows.append([m["name"], f"{was:.3f} ms" if was else "-", f"{now:.3f} ms" if now else "-", gain,
                         f'{m["tuned"]} of {m["tasks"]}', str(run["measured"]), str(run["failed"]), m["kept"]])
    print_table(["network", "default", "tuned", "gain, interleaved", "tasks tuned", "measured", "failed", "kept"], rows)
    tasks = []
    for name in names:
        for t in load(folder, name, "tune")["tasks"]:
            if t["default_ms"] and t["best_ms"] and t["best_ms"] < t["default_ms"]:
                saved = t["calls"] * (t["default_ms"] - t["best_ms"])
                tasks.append((-saved, [f'{t["label"]} {t["key"][:8]}', f'{t["calls"]:g}', f'{t["default_ms"] * 1e3:.1f} us',
                                       f'{t["best_ms"] * 1e3:.1f} us', f'{t["default_ms"] / t["best_ms"]:.2f}x']))
    if tasks:
        print()
        print_table(["task that gained most", "calls", "default", "tuned", "gain"], [row for _, row in sorted(tasks)[:5]])


if __name__ == "__main__":
    if sys.argv[1] == "--tuned":
        tuned(sys.argv[2], sys.argv[3:])
    else:
        untuned(sys.argv[1], sys.argv[2:])

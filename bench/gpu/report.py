# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench gpu` prints and writes. Pure functions: no library of GPUs is needed.

A row is {"case", "timings": {label: {"best_us", "median_us", "spread", "rounds_us"}}, "differences", "absent", "flops",
"weight_bytes", "kernels", ..}. Ratios are of medians, the best peer's over tenon's: above 1 tenon is faster.
"""
import json
import math

import cases
from drawing import ratio, text_table

OURS = ("tenon", "untuned")
LIMIT = 1e-3      # of the largest value: more is wrong
# Where a ceiling could not be measured: an H200's.
USUAL = {"matmul_tflops": 51.0, "copy_tb_per_s": 4.3, "launch_us": 0.5}
UNTUNED_SHARE = 0.7  # of the tuned speed


def floors(row, ceilings):
    """Microseconds that a run takes at least: to multiply (directly, as fast as the largest product), to read all
    weights once, to launch its kernels; `all` is what cannot overlap: the longer of the first two, and the third."""
    known = {name: ceilings.get(name) or usual for name, usual in USUAL.items()}
    parts = {"arithmetic": row.get("flops", 0) / known["matmul_tflops"] / 1e6,
             "weights": row.get("weight_bytes", 0) / known["copy_tb_per_s"] / 1e6,
             "kernels": (row.get("kernels") or 0) * known["launch_us"]}
    return {**parts, "all": max(parts["arithmetic"], parts["weights"]) + parts["kernels"]}


def best_peer(timings):
    names = [name for name in timings if name not in OURS]
    return min(names, key=lambda name: timings[name]["median_us"]) if names else None


def ratio_in_rounds(peer, tenon):
    """The least and the largest ratio that a single round shows."""
    ratios = [p / t for p, t in zip(peer["rounds_us"], tenon["rounds_us"])]
    return [min(ratios), max(ratios)]


def complete(row, ceilings):
    """ROW with everything that follows from its measurements."""
    timings = row.get("timings", {})
    row = {**row, "floors_us": floors(row, ceilings), "best_peer": best_peer(timings),
           "goal": cases.CASES[row["case"]].goal}
    tenon, peer = timings.get("tenon"), timings.get(row["best_peer"])
    if tenon:
        row["share"] = row["floors_us"]["all"] / tenon["median_us"]
    if tenon and peer:
        row["ratio"] = peer["median_us"] / tenon["median_us"]
        row["ratio_of_bests"] = peer["best_us"] / tenon["best_us"]
        row["ratio_in_rounds"] = ratio_in_rounds(peer, tenon)
    if tenon and "untuned" in timings:
        row["untuned_share"] = tenon["median_us"] / timings["untuned"]["median_us"]
    return row


def count_kernels(manifest, repeat=1):
    """Launches of a run, from the manifest of an artifact; of one operator of a chain of REPEAT."""
    launches = [len(kernel.get("launches", ())) for kernel in manifest["kernels"]]
    return sum(launches[step["kernel"]] for step in manifest["steps"]) / repeat


def microseconds(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def table(rows, peers):
    untuned = any("untuned" in row.get("timings", {}) for row in rows)
    ours = OURS if untuned else OURS[:1]
    lines = [["us", *ours, "best", "+-", *peers, "best peer", "ratio", "in rounds", "goal", "kernels", "arithmetic",
              "weights", "launches", "share", "error"]]
    for row in rows:
        timings, floor = row.get("timings", {}), row["floors_us"]
        tenon, inside = timings.get("tenon"), row.get("ratio_in_rounds")
        error = row.get("differences", {}).get("tenon")
        lines.append([
            row["case"], *[microseconds(timings.get(name, {}).get("median_us")) for name in ours],
            microseconds(tenon and tenon["best_us"]), f"{100 * tenon['spread']:.0f}%" if tenon else "-",
            *[microseconds(timings.get(name, {}).get("median_us")) for name in peers], row["best_peer"] or "-",
            ratio(row.get("ratio")), f"{inside[0]:.2f}..{inside[1]:.2f}" if inside else "-", ratio(row["goal"]),
            f"{row['kernels']:g}" if row.get("kernels") else "-", microseconds(floor["arithmetic"]),
            microseconds(floor["weights"]), microseconds(floor["kernels"]), ratio(row.get("share")),
            "-" if error is None else f"{error:.0e}"])
    return text_table(lines)


def show_machine(facts):
    machine = facts.get("machine", {})
    return ", ".join(f"{name} {value}" for name, value in machine.items()) or "nothing is known of the card"


def show_ceilings(ceilings):
    words = {"matmul_tflops": "{:.1f} TFLOP/s in a matmul of 8192", "fma_tflops": "{:.1f} in a loop of fma",
             "copy_tb_per_s": "{:.2f} TB/s in a copy", "launch_us": "{:.2f} us per empty kernel of a graph"}
    found = [text.format(ceilings[name]) for name, text in words.items() if ceilings.get(name)]
    missing = [f"{name} was not measured: {why}" for name, why in ceilings.get("absent", {}).items()]
    return "\n".join(["ceilings: " + (", ".join(found) or "none"), *missing])


def show_making(rows):
    """How long tenon took for each artifact, and how many candidates it measured in that time."""
    lines = []
    for row in rows:
        words = [f"{label} made in {seconds:.1f} s" for label, seconds in row.get("make_s", {}).items()]
        if row.get("measured"):
            rate = row["measured"] / row["make_s"]["tenon"]
            words.append(f"{row['measured']} candidates measured, {rate:.0f} per second")
        lines += [f"{row['case']}: {', '.join(words)}"] if words else []
    return "\n".join(lines)


def verdicts(rows):
    """(lines about what is wrong, missing or behind its goal, exit code)"""
    lines, code = [], 0
    for row in rows:
        name = row["case"]
        if row.get("error"):
            lines.append(f"{name}: FAILED: {row['error']}")
            code = max(code, 1)
        for label, why in row.get("absent", {}).items():
            lines.append(f"{name}: {label} is absent: {why}")
            code = max(code, 1 if label in OURS else 0)
        for label, value in row.get("differences", {}).items():
            if not value <= LIMIT:
                lines.append(f"{name}: {label} is WRONG: {value:.1e} from PyTorch's output, relative to the largest")
                code = 4 if label in OURS else code
        if row["goal"] and row.get("ratio"):
            word = "met" if row["ratio"] >= row["goal"] else "MISSED"
            lines.append(f"{name}: {word}: {row['ratio']:.2f} times {row['best_peer']}, at least {row['goal']}")
        if row.get("untuned_share") is not None and row["untuned_share"] < UNTUNED_SHARE:
            lines.append(f"{name}: MISSED: untuned {row['untuned_share']:.2f} of the tuned speed,"
                         f" at least {UNTUNED_SHARE}")
    return lines, code


def finite(value):
    """JSON has no infinity."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path, rows, facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": "tenon.bench.gpu/1", **finite(facts), "rows": finite(rows)}, indent=1) + "\n")

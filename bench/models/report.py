# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench models` prints and writes: a table, a JSON file, a plot as SVG.

A row is {"model", "threads", "tenon_ms", "peers": {name: ms}, "ratio_best_peer", ...}: times are the best of all
inferences in ms, `median` and `spread` (10th to 90th percentile over the median) stand beside them per contestant,
and a ratio above 1 means that tenon is faster. A time that does not exist is null, and `absent` says why.
"""
import json
import math
import statistics

from drawing import color, document, milliseconds, ratio, text, text_table

# Over these networks the geometric mean must reach GEOMEAN, and none may stay under FLOOR: of ONNX Runtime's speed
# untuned, of the best peer's tuned.
GATED = ("resnet50", "mobilenet_v2", "r3d_18", "dcgan", "bert_base")
GEOMEAN, FLOOR = 0.75, 0.5
TUNED_GEOMEAN, TUNED_FLOOR = 0.95, 0.8


def make_row(model, threads, timings, absent, extra):
    """TIMINGS: label -> harness.Timing of those that ran; tenon's are `tenon` and, beside a tuned one, `untuned`."""
    tenon, untuned = timings.get("tenon"), timings.get("untuned")
    peers = {name: timing.best for name, timing in timings.items() if name not in ("tenon", "untuned")}
    row = {"model": model, "threads": threads, "tenon_ms": tenon.best if tenon else None,
           "untuned_ms": untuned.best if untuned else None, "peers": peers,
           "ratio_best_peer": None, "ratio_spread": None, "best_peer": None,
           "median_ms": {name: timing.median for name, timing in timings.items()},
           "spread": {name: timing.spread for name, timing in timings.items()},
           "absent": absent, **extra}
    if peers:
        row["best_peer"] = min(peers, key=peers.get)
    if tenon and peers:
        row["ratio_best_peer"] = peers[row["best_peer"]] / tenon.best
        row["ratio_spread"] = ratio_spread(timings[row["best_peer"]], tenon)
    return row


def ratio_spread(peer, tenon):
    """The least and the largest ratio that a single round shows, by its medians."""
    ratios = [p / t for p, t in zip(peer.rounds, tenon.rounds)]
    return [min(ratios), max(ratios)]


def table(rows, names):
    tuned = any(row["untuned_ms"] for row in rows)
    head = ["model", "threads", "tenon ms", *(["untuned", "gain"] if tuned else []), *names, "best peer", "ratio",
            "in rounds", "+-"]
    lines = [head]
    for row in rows:
        spread, untuned = row["ratio_spread"], row["untuned_ms"]
        gain = untuned / row["tenon_ms"] if untuned and row["tenon_ms"] else None
        lines.append([
            row["model"], str(row["threads"]), milliseconds(row["tenon_ms"]),
            *([milliseconds(untuned), ratio(gain)] if tuned else []),
            *[milliseconds(row["peers"].get(name)) for name in names], row["best_peer"] or "-",
            ratio(row["ratio_best_peer"]), f"{spread[0]:.2f}..{spread[1]:.2f}" if spread else "-",
            f"{100 * max(row['spread'].values(), default=0):.0f}%"])
    return text_table(lines)


def summary(rows):
    """Geometric means per thread count, and the gate against ONNX Runtime."""
    lines = []
    for threads in sorted({row["threads"] for row in rows}):
        mine = [row for row in rows if row["threads"] == threads and row["tenon_ms"]]
        for name in sorted({name for row in mine for name in row["peers"]}):
            ratios = [row["peers"][name] / row["tenon_ms"] for row in mine if name in row["peers"]]
            lines.append(f"{threads} thread(s): {statistics.geometric_mean(ratios):.2f} of {name}'s speed over"
                         f" {len(ratios)} models, least {min(ratios):.2f}")
        lines += gate(mine, threads)
    return "\n".join(lines)


def gate(rows, threads):
    if any(row["untuned_ms"] for row in rows):
        best = {row["model"]: row["ratio_best_peer"] for row in rows if row["ratio_best_peer"]}
        gains = [row["untuned_ms"] / row["tenon_ms"] for row in rows if row["untuned_ms"]]
        return [f"{threads} thread(s): tuned over untuned {statistics.geometric_mean(gains):.2f} over {len(gains)} models,"
                f" least {min(gains):.2f}", *verdict(best, threads, "the best peer", TUNED_GEOMEAN, TUNED_FLOOR)]
    ratios = {row["model"]: row["peers"]["onnxruntime"] / row["tenon_ms"]
              for row in rows if "onnxruntime" in row["peers"]}
    return verdict(ratios, threads, "onnxruntime", GEOMEAN, FLOOR)


def verdict(ratios, threads, whom, geomean, floor):
    """RATIOS: model -> ratio; nothing if a gated one is missing."""
    ratios = {name: ratios[name] for name in GATED if name in ratios}
    if len(ratios) < len(GATED):
        return []
    mean, worst = statistics.geometric_mean(ratios.values()), min(ratios, key=ratios.get)
    word = "met" if mean >= geomean and ratios[worst] >= floor else "MISSED"
    return [f"{threads} thread(s): {word}: {', '.join(GATED)} against {whom}: mean {mean:.2f} (at least"
            f" {geomean}), least {ratios[worst]:.2f} of {worst} (at least {floor})"]


def write_json(path, rows, facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": "tenon.bench.models/1", **facts, "rows": rows}, indent=1) + "\n")


BAR, GAP, LEFT, WIDTH = 9, 12, 190, 620


def write_plot(path, rows, names, title):
    """Bars of peer's time over tenon's on a logarithmic axis; the line at 1 is tenon."""
    rows = [row for row in rows if row["tenon_ms"] and row["peers"]]
    ratios = [ms / row["tenon_ms"] for row in rows for ms in row["peers"].values()] or [1]
    low, high = min(0.5, *ratios) / 1.1, max(2, *ratios) * 1.1

    def x(times):
        return LEFT + WIDTH * math.log(times / low) / math.log(high / low)
    parts, y = [], 60
    for row in rows:
        parts.append(text(LEFT - 8, y + len(names) * BAR / 2 + 4, f"{row['model']}, {row['threads']}", "end"))
        for name in names:
            if name in row["peers"]:
                times = row["peers"][name] / row["tenon_ms"]
                start, end = sorted((x(1), x(times)))
                parts.append(f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{BAR - 1}"'
                             f' fill="{color(name)}"><title>{name} {times:.2f}</title></rect>')
            y += BAR
        y += GAP
    for tick in (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10, 25, 50, 100, 250):
        if low <= tick <= high:
            parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="52" y2="{y}" stroke="#000"'
                         f' stroke-opacity="{0.9 if tick == 1 else 0.15}"/>' + text(x(tick), 48, f"{tick:g}", "middle"))
    for index, name in enumerate(names):
        parts.append(f'<rect x="{LEFT + 130 * index}" y="24" width="10" height="10" fill="{color(name)}"/>'
                     + text(LEFT + 130 * index + 14, 33, name))
    path.write_text(document(LEFT + WIDTH + 30, y + 10, [text(LEFT, 16, title), *parts]))

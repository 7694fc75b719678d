# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench models` prints and writes: a table, a JSON file, a plot as SVG.

A row is {"model", "threads", "tenon_ms", "peers": {name: ms}, "ratio_best_peer", ...}: times are the best of all
inferences in ms, `median` and `spread` (10th to 90th percentile over the median) stand beside them per contestant,
and a ratio above 1 means that tenon is faster. A time that does not exist is null, and `absent` says why.
"""
import html
import json
import math
import statistics

# Issue: geometric mean over these at least GEOMEAN of ONNX Runtime's speed, and none under FLOOR.
GATED = ("resnet50", "mobilenet_v2", "bert_base", "dcgan", "r3d_18")
GEOMEAN, FLOOR = 0.75, 0.5


def make_row(model, threads, timings, absent, extra):
    """TIMINGS: contestant -> harness.Timing of those that ran."""
    tenon = timings.get("tenon")
    peers = {name: timing.best for name, timing in timings.items() if name != "tenon"}
    row = {"model": model, "threads": threads, "tenon_ms": tenon.best if tenon else None, "peers": peers,
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
    head = ["model", "threads", "tenon ms", *[f"{name} ms" for name in names], "best peer", "ratio", "in rounds", "+-"]
    lines = [head]
    for row in rows:
        spread = row["ratio_spread"]
        lines.append([
            row["model"], str(row["threads"]), milliseconds(row["tenon_ms"]),
            *[milliseconds(row["peers"].get(name)) for name in names], row["best_peer"] or "-",
            f"{row['ratio_best_peer']:.2f}" if row["ratio_best_peer"] else "-",
            f"{spread[0]:.2f}..{spread[1]:.2f}" if spread else "-",
            f"{100 * max(row['spread'].values(), default=0):.0f}%"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                               for column, (cell, width) in enumerate(zip(line, widths)))
                     for line in lines)


def milliseconds(value):
    return "-" if value is None else f"{value:.2f}" if value < 1000 else f"{value:.0f}"


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
    ratios = {row["model"]: row["peers"]["onnxruntime"] / row["tenon_ms"]
              for row in rows if row["model"] in GATED and "onnxruntime" in row["peers"]}
    if len(ratios) < len(GATED):
        return []
    mean, worst = statistics.geometric_mean(ratios.values()), min(ratios, key=ratios.get)
    verdict = "met" if mean >= GEOMEAN and ratios[worst] >= FLOOR else "MISSED"
    return [f"{threads} thread(s): {verdict}: {', '.join(GATED)} against onnxruntime: mean {mean:.2f} (at least"
            f" {GEOMEAN}), least {ratios[worst]:.2f} of {worst} (at least {FLOOR})"]


def write_json(path, rows, facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": "tenon.bench.models/1", **facts, "rows": rows}, indent=1) + "\n")


COLORS = {"onnxruntime": "#1f6fb4", "openvino": "#7a4fb5", "tvm": "#999999", "pytorch": "#d9622b"}
BAR, GAP, LEFT, WIDTH = 9, 12, 190, 620


def write_plot(path, rows, names, title):
    """Bars of peer's time over tenon's on a logarithmic axis; the line at 1 is tenon."""
    rows = [row for row in rows if row["tenon_ms"] and row["peers"]]
    ratios = [ms / row["tenon_ms"] for row in rows for ms in row["peers"].values()] or [1]
    low, high = min(0.5, *ratios) / 1.1, max(2, *ratios) * 1.1

    def x(ratio):
        return LEFT + WIDTH * math.log(ratio / low) / math.log(high / low)
    parts, y = [], 60
    for row in rows:
        parts.append(text(LEFT - 8, y + len(names) * BAR / 2 + 4, f"{row['model']}, {row['threads']}", "end"))
        for name in names:
            if name in row["peers"]:
                ratio = row["peers"][name] / row["tenon_ms"]
                start, end = sorted((x(1), x(ratio)))
                parts.append(f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{BAR - 1}"'
                             f' fill="{COLORS.get(name, "#444")}"><title>{name} {ratio:.2f}</title></rect>')
            y += BAR
        y += GAP
    for tick in (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 10, 25, 50, 100, 250):
        if low <= tick <= high:
            parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="52" y2="{y}" stroke="#000"'
                         f' stroke-opacity="{0.9 if tick == 1 else 0.15}"/>' + text(x(tick), 48, f"{tick:g}", "middle"))
    for index, name in enumerate(names):
        parts.append(f'<rect x="{LEFT + 130 * index}" y="24" width="10" height="10" fill="{COLORS.get(name, "#444")}"/>'
                     + text(LEFT + 130 * index + 14, 33, name, "start"))
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{y + 10}"'
                    f' font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="#fff"/>'
                    + text(LEFT, 16, title, "start") + "".join(parts) + "</svg>\n")


def text(x, y, words, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'

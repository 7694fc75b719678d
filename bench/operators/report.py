# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench operators` prints and writes.

A row is {"op", "shape", "tenon_ms", "peers": {name: ms}, "ratio_best_peer", "trials", "seconds", ...}: times are the best
of all inferences in ms, a ratio above 1 means that tenon is faster. `seconds` is what tuning took, `curve` how it went:
[trials, seconds, estimated ms]. A time that does not exist is null, and `error` or `absent` says why.
"""
import json
import math
import statistics

import cases
import drawing

OURS = ("tenon", "untuned", "fixed", "row-major")  # entries of the contest that are no peers
LOOPS = {"fixed": "under the defaults' layouts", "row-major": "with row-major tensors"}  # tuned loops alone
# Spaces of loops alone over the plain definition with row-major tensors; their times are those of the records.
SPACES = {"loops": "loops alone, every tensor as the model has it",
          "sketch": "loops alone that store weights in their own order"}
GEOMEAN, SHARE = 1.3, 0.8  # the mean ratio over the best peer, and the share of cases at 1.0 or better


def make_row(case, made, outcome, tolerance, threads):
    """MADE: tenon's artifact; OUTCOME: of the contest, where tenon's entries are those of OURS."""
    times = {label: timing.best for label, timing in outcome.timings.items()}
    peers = {label: ms for label, ms in times.items() if label not in OURS}
    row = {"op": case.op, "shape": case.shape_text, "tenon_ms": times.get("tenon"), "peers": peers,
           "ratio_best_peer": None, "trials": made.measured(), "seconds": made.time_s,
           "untuned_ms": times.get("untuned"), "loops_ms": {how: times[how] for how in LOOPS if how in times}, "space_ms": {},
           "best_peer": min(peers, key=peers.get) if peers else None,
           "threads": threads, "gflop": cases.flops(case) / 1e9, "ratio_spread": None, "ratio_of_medians": None,
           "spread": {label: timing.spread for label, timing in outcome.timings.items()},
           "difference": outcome.differences, "detail": outcome.details, "absent": outcome.absent,
           "curve": [[trials, seconds, 1e3 * estimate] for trials, seconds, estimate in made.curve()],
           "error": fault(outcome, tolerance)}
    if row["error"]:
        row["tenon_ms"] = None
    elif peers:
        best, tenon = outcome.timings[row["best_peer"]], outcome.timings["tenon"]
        row["ratio_best_peer"] = best.best / tenon.best
        row["ratio_of_medians"] = best.median / tenon.median
        ratios = [p / t for p, t in zip(best.rounds, tenon.rounds)]
        row["ratio_spread"] = [min(ratios), max(ratios)]
    return row


def fault(outcome, tolerance):
    """Why tenon's time does not count, or nothing."""
    for label in OURS:
        if label in outcome.absent:
            return f"{label}: {outcome.absent[label]}"
        difference = outcome.differences.get(label, 0.0)
        if difference is None or difference > tolerance:
            return f"{label} is WRONG: {difference} from the expected output relative to the largest"
    return ""


def table(rows, names):
    head = ["op", "shape", "tenon ms", "untuned", *names, "ratio", "in rounds", "GF/s", "trials", "s"]
    lines = [head]
    for row in rows:
        spread, time_ms = row["ratio_spread"], row["tenon_ms"]
        lines.append([
            row["op"], row["shape"], drawing.milliseconds(time_ms), drawing.milliseconds(row["untuned_ms"]),
            *[drawing.milliseconds(row["peers"].get(name)) for name in names],
            "ERROR" if row["error"] else drawing.ratio(row["ratio_best_peer"]),
            f"{spread[0]:.2f}..{spread[1]:.2f}" if spread else "-",
            f"{1e3 * row['gflop'] / time_ms:.0f}" if time_ms else "-", str(row["trials"]), f"{row['seconds']:.0f}"])
    return drawing.text_table(lines, left=2)


def summary(rows):
    lines = [f"{row['op']} {row['shape']}: {row['error']}" for row in rows if row["error"]]
    lines += [f"{row['op']} {row['shape']}: {name} is absent: {why}" for row in rows
              for name, why in row["absent"].items() if name not in OURS]
    rows = [row for row in rows if row["ratio_best_peer"]]
    for op in dict.fromkeys(row["op"] for row in rows):
        mine = [row["ratio_best_peer"] for row in rows if row["op"] == op]
        lines.append(f"{op:9} {statistics.geometric_mean(mine):5.2f}  (least {min(mine):.2f})")
    ratios = [row["ratio_best_peer"] for row in rows]
    if ratios:
        mean, share = statistics.geometric_mean(ratios), sum(r >= 1 for r in ratios) / len(ratios)
        verdict = "met" if mean >= GEOMEAN and share >= SHARE else "MISSED"
        lines.append(f"{verdict}: geometric mean over the best peer {mean:.2f} (at least {GEOMEAN}), {100 * share:.0f} % of"
                     f" {len(ratios)} cases at 1.0 or better (at least {100 * SHARE:.0f} %)")
    gains = [row["untuned_ms"] / row["tenon_ms"] for row in rows if row["untuned_ms"]]
    if gains:
        lines.append(f"tuned over untuned: {statistics.geometric_mean(gains):.2f} in the mean, least {min(gains):.2f},"
                     f" most {max(gains):.2f}")
    for how, words in LOOPS.items():
        for kind in ("convolutions", "all cases"):
            gains = [row["loops_ms"][how] / row["tenon_ms"] for row in rows if how in row["loops_ms"]
                     and (kind != "convolutions" or row["op"] in cases.CONVOLUTIONS)]
            if gains:
                lines.append(f"layouts and loops over loops alone {words}, {kind}: {statistics.geometric_mean(gains):.2f}"
                             f" in the mean, least {min(gains):.2f}, most {max(gains):.2f}")
    return lines + over_spaces(rows)


def over_spaces(rows):
    """What algorithms, layouts and templates gain over loops alone: both times as recorded, cold weights."""
    lines = []
    for space, words in SPACES.items():
        gains = [row["space_ms"][space] / row["curve"][-1][2] for row in rows if row["curve"] and row["space_ms"].get(space)]
        if gains:
            lines.append(f"algorithm, layouts and loops over {words}, {len(gains)} convolutions:"
                         f" {statistics.geometric_mean(gains):.2f} in the mean, least {min(gains):.2f}, most {max(gains):.2f}")
    return lines


def write_json(path, rows, facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": "tenon.bench.operators/1", **facts, "rows": rows}, indent=1) + "\n")


def text_curves(rows, points=(0.1, 0.25, 0.5, 0.75, 1.0)):
    """Estimated ms after shares of the trials: how soon the search had what."""
    lines = [["search curves, ms after", "", *[f"{100 * share:.0f} %" for share in points]]]
    for row in rows:
        if row["curve"]:
            last = row["curve"][-1][0]
            reached = [[ms for trials, _, ms in row["curve"] if trials <= share * last] for share in points]
            lines.append([row["op"], row["shape"], *[drawing.milliseconds(seen[-1] if seen else None) for seen in reached]])
    return drawing.text_table(lines, left=2) if len(lines) > 1 else "no search curves"


PANEL_WIDTH, PANEL_HEIGHT, COLUMNS, MARGIN = 210, 120, 4, 34


def write_curves(path, rows, title):
    """One panel per case: estimated time over trials; dashed is the untuned artifact's."""
    parts, drawn = [drawing.text(10, 18, title, size=13)], [row for row in rows if row["curve"]]
    for index, row in enumerate(drawn):
        parts += panel(row, 10 + (PANEL_WIDTH + 14) * (index % COLUMNS), 34 + PANEL_HEIGHT * (index // COLUMNS))
    height = 44 + PANEL_HEIGHT * math.ceil(len(drawn) / COLUMNS)
    path.write_text(drawing.document(20 + (PANEL_WIDTH + 14) * COLUMNS, height, parts))


def panel(row, left, top):
    curve = row["curve"]
    values = [ms for _, _, ms in curve] + ([row["untuned_ms"]] if row["untuned_ms"] else [])
    high, trials = 1.1 * max(values), max(t for t, _, _ in curve)
    width, height = PANEL_WIDTH - MARGIN - 6, PANEL_HEIGHT - 36

    def place(count, ms):
        return left + MARGIN + width * count / trials, top + 16 + height * (1 - ms / high)
    points = " ".join("{:.1f},{:.1f}".format(*place(count, ms)) for count, _, ms in curve)
    (x0, y0), (x1, y1) = place(0, 0), place(trials, high)
    parts = [drawing.text(left, top + 10, f"{row['op']} {row['shape']}"),
             f'<path d="M{x0:.1f} {y1:.1f}V{y0:.1f}H{x1:.1f}" fill="none" stroke="#888"/>',
             f'<polyline points="{points}" fill="none" stroke="{drawing.color("tenon")}" stroke-width="1.5"/>',
             drawing.text(x0 - 3, y1 + 8, drawing.milliseconds(high), "end", 9), drawing.text(x0 - 3, y0, "0", "end", 9),
             drawing.text(x1, y0 + 11, f"{trials} trials", "end", 9),
             drawing.text(x1, place(0, curve[-1][2])[1] - 3, drawing.milliseconds(curve[-1][2]), "end", 9)]
    if row["untuned_ms"]:
        y = place(0, row["untuned_ms"])[1]
        parts.append(f'<line x1="{x0:.1f}" x2="{x1:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#888"'
                     ' stroke-dasharray="4 3"/>')
    return parts

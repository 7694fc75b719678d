#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quality.py FILE.json ... [--svg FILE] [--baseline ARM]: tables and a picture of what quality_bench measured.

A share is the best time known for a task over the time found: 1 is as good as anything that any arm found. Each curve
is put on the scale of its final time, which was taken beside those of all other arms. Means are geometric, over the
seeds of a task and then over tasks; intervals are 95 % of a bootstrap over tasks. Several files are several parts of
one contest: the same tasks with other arms or seeds, on one machine.
"""
import argparse
import bisect
import html
import json
import math
import random
import sys

POINTS = (0, 16, 32, 64, 128, 256, 512, 1024)
REACHED = (0.95, 0.99)
LEAST = 0.01  # a search that found nothing yet
RESAMPLES = 1000
COLORS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0")
GROUPS = ("known", "held-out")


class Curve:
    """Shares after trials and after seconds, of one search."""

    def __init__(self, run, best_known):
        end = run["curve_s"][-1]
        scale = run["final_s"] / end
        self.shares = [LEAST if s is None else max(LEAST, best_known / (s * scale)) for s in run["curve_s"]]
        self.at_s = run["at_s"]

    def after_trials(self, n):
        return self.shares[min(n, len(self.shares) - 1)]  # the first is the start's, which needs no trial

    def after_seconds(self, t):
        return self.shares[max(0, bisect.bisect_right(self.at_s, t) - 1)]


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


class Contest:
    def __init__(self, documents):
        self.trials = max(d["trials"] for d in documents)
        self.groups, best = {}, {}
        for task in (t for d in documents for t in d["tasks"]):
            self.groups[task["name"]] = task["group"]
            if task["best_known_s"] is not None:
                best[task["name"]] = min(task["best_known_s"], best.get(task["name"], math.inf))
        self.curves = {a["name"]: {} for d in documents for a in d["arms"]}  # arm -> task -> [Curve]
        self.seconds = 0
        for run in (r for d in documents for r in d["runs"]):
            if run["final_s"] is None or run["curve_s"][-1] is None:
                continue
            curve = Curve(run, best[run["task"]])
            self.curves[run["arm"]].setdefault(run["task"], []).append(curve)
            self.seconds = max(self.seconds, run["at_s"][-1])
        self.curves = {arm: of for arm, of in self.curves.items() if of}

    def arms(self):
        return list(self.curves)

    def tasks(self, group):
        """Those that every arm has a search of."""
        return [t for t, g in self.groups.items() if group in (g, "all") and all(t in of for of in self.curves.values())]

    def of_task(self, arm, task, at):
        return geometric_mean([at(c) for c in self.curves[arm][task]])

    def mean(self, arm, tasks, at):
        return geometric_mean([self.of_task(arm, t, at) for t in tasks])

    def interval(self, arm, tasks, at):
        rng = random.Random(1)
        logs = [math.log(self.of_task(arm, t, at)) for t in tasks]
        means = sorted(sum(rng.choices(logs, k=len(logs))) / len(logs) for _ in range(RESAMPLES))
        return math.exp(means[RESAMPLES // 40]), math.exp(means[RESAMPLES - 1 - RESAMPLES // 40])

    def trials_to(self, arm, tasks, share):
        """The first number of trials at which the mean is there; None: never."""
        for n in range(self.trials + 1):
            if self.mean(arm, tasks, lambda c, n=n: c.after_trials(n)) >= share:
                return n
        return None


def points_of(trials):
    return [p for p in POINTS if p < trials] + [trials]


def rows_of(contest, group, baseline):
    """[{arm, shares: {trials: (mean, low, high)}, reached: {share: trials}, ...}] of a group's tasks."""
    tasks = contest.tasks(group)
    if not tasks:
        return []
    end = contest.mean(baseline, tasks, lambda c: c.shares[-1]) if baseline in contest.curves else None
    rows = []
    for arm in contest.arms():
        shares = {}
        for n in points_of(contest.trials):
            at = lambda c, n=n: c.after_trials(n)
            shares[n] = (contest.mean(arm, tasks, at), *contest.interval(arm, tasks, at))
        worst = min((contest.of_task(arm, t, lambda c: c.shares[-1]), t) for t in tasks)
        rows.append({"arm": arm, "shares": shares, "worst": worst,
                     "reached": {s: contest.trials_to(arm, tasks, s) for s in REACHED},
                     "as_baseline": None if end is None else contest.trials_to(arm, tasks, end)})
    return rows


def table(contest, group, baseline):
    rows = rows_of(contest, group, baseline)
    if not rows:
        return f"{group}: no task has a search of every arm\n"
    count = len(contest.tasks(group))
    trials = lambda n: "never" if n is None else str(n)
    width = max(len(r["arm"]) for r in rows)
    text = f"{group} ({count} tasks): share of the best known after trials, 95 % interval over tasks\n"
    text += f"  {'arm':<{width}}" + "".join(f"{n:>20}" for n in points_of(contest.trials))
    text += "".join(f"{f'to {s:.0%}':>9}" for s in REACHED) + f"{'to base':>9}  worst task\n"
    for r in rows:
        text += f"  {r['arm']:<{width}}"
        text += "".join(f"{f'{m:.3f} ({low:.2f}-{high:.2f})':>20}" for m, low, high in r["shares"].values())
        text += "".join(f"{trials(r['reached'][s]):>9}" for s in REACHED) + f"{trials(r['as_baseline']):>9}"
        text += f"  {r['worst'][0]:.3f} {r['worst'][1]}\n"
    return text


# ---- the picture -----------------------------------------------------------------------------------------------


class Panel:
    """Axes of one plot inside of the picture; x grows by its logarithm, y is from `low` to 1."""

    def __init__(self, left, top, width, height, least_x, most_x, low):
        self.left, self.top, self.width, self.height = left, top, width, height
        self.least_x, self.most_x, self.low = least_x, most_x, low

    def x(self, value):
        span = math.log(1 + self.most_x / self.least_x)
        return self.left + self.width * math.log(1 + value / self.least_x) / span

    def y(self, share):
        return self.top + self.height * (1 - (max(share, self.low) - self.low) / (1 - self.low))

    def axes(self, title, unit, ticks):
        bottom = self.top + self.height
        out = [f'<text x="{self.left}" y="{self.top - 8}" class="title">{html.escape(title)}</text>']
        for i in range(6):
            share = self.low + (1 - self.low) * i / 5
            y = self.y(share)
            out.append(f'<line x1="{self.left}" x2="{self.left + self.width}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
                       f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.2f}</text>')
        for tick in ticks:
            out.append(f'<text x="{self.x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
        out.append(f'<text x="{self.left + self.width}" y="{bottom + 32}" text-anchor="end">{unit}</text>')
        return out

    def curve(self, xs, means, lows, highs, color):
        line = " ".join(f"{self.x(x):.1f},{self.y(m):.1f}" for x, m in zip(xs, means))
        upper = [f"{self.x(x):.1f},{self.y(h):.1f}" for x, h in zip(xs, highs)]
        lower = [f"{self.x(x):.1f},{self.y(v):.1f}" for x, v in zip(xs, lows)]
        return [f'<polygon points="{" ".join(upper + lower[::-1])}" fill="{color}" opacity="0.12"/>',
                f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>']


def samples(most, count=48):
    """0 and numbers up to `most` that lie evenly on the logarithmic axis."""
    return [most * (math.exp(math.log(1 + 64) * i / count) - 1) / 64 for i in range(count + 1)]


def draw(panel, contest, tasks, xs, at):
    out = []
    for i, arm in enumerate(contest.arms()):
        points = []
        for x in xs:
            get = lambda c, x=x: at(c, x)
            points.append((contest.mean(arm, tasks, get), *contest.interval(arm, tasks, get)))
        out += panel.curve(xs, *zip(*points), COLORS[i % len(COLORS)])
    return out


def picture(contest):
    groups = [g for g in GROUPS if contest.tasks(g)] or ["all"]
    starts = [contest.mean(a, contest.tasks(g), lambda c: c.after_trials(0)) for a in contest.arms() for g in groups]
    low = max(0.0, math.floor(10 * min(starts)) / 10)
    width, rows = 520 * len(groups) + 60, len(contest.arms())
    parts = []
    for column, group in enumerate(groups):
        tasks, left = contest.tasks(group), 60 + 520 * column
        p = Panel(left, 40, 440, 240, contest.trials / 64, contest.trials, low)
        parts += p.axes(f"{group}: {len(tasks)} tasks", "trials", points_of(contest.trials))
        xs = sorted({round(x) for x in samples(contest.trials)})
        parts += draw(p, contest, tasks, xs, lambda c, n: c.after_trials(n))
        p = Panel(left, 370, 440, 240, contest.seconds / 64, contest.seconds, low)
        parts += p.axes(group, "seconds of one search", [float(f"{contest.seconds * f:.2g}") for f in (0, 0.1, 0.3, 1)])
        parts += draw(p, contest, tasks, samples(contest.seconds), lambda c, t: c.after_seconds(t))
    for i, arm in enumerate(contest.arms()):
        y = 670 + 18 * i
        parts.append(f'<rect x="60" y="{y - 9}" width="14" height="4" fill="{COLORS[i % len(COLORS)]}"/>'
                     f'<text x="82" y="{y - 3}">{html.escape(arm)}</text>')
    style = ("text{font:12px sans-serif;fill:#333}.title{font-weight:bold}.grid{stroke:#ddd}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {670 + 18 * rows}">'
            f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')


def read(path):
    document = json.loads(open(path).read())
    if document.get("schema") != "tenon.quality/1":
        sys.exit(f"quality.py: {path} is no document of the schema tenon.quality/1")
    return document


def headline(d):
    s = d["searches"]
    text = (f"{len(d['runs'])} of {s['asked']} searches of {d['trials']} trials, {d['measured']} programs in"
            f" {d['seconds']:.0f} s ({d['measured'] / max(d['seconds'], 1e-3):.1f} per second) on {d['lanes']} lanes of"
            f" {d['cores_per_lane']} cores\n")
    for m in d["missing"]:
        text += f"missing  {m['arm']}: {m['why']}\n"
    for p in d["problems"]:
        text += f"failed   {p.get('arm', 'finals')}  {p['task']}: {p['why']}\n"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--svg", help="where to draw the curves")
    parser.add_argument("--baseline", default="evolution+random",
                        help="'to base' is the trials to this arm's end (default: %(default)s)")
    arguments = parser.parse_args()
    documents = [read(f) for f in arguments.files]
    for d in documents:
        print(headline(d), end="")
    contest = Contest(documents)
    if not contest.curves:
        sys.exit("quality.py: nothing was measured to its end")
    for group in (*GROUPS, "all"):
        if contest.tasks(group):
            print("\n" + table(contest, group, arguments.baseline), end="")
    if arguments.svg:
        with open(arguments.svg, "w") as f:
            f.write(picture(contest))


if __name__ == "__main__":
    main()

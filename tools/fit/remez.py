# SPDX-License-Identifier: Apache-2.0
"""Minimax fits in arbitrary precision, with coefficients rounded to the type that will hold them.

fit_poly finds c_j so that the largest |weight(x) * (f(x) - sum_j c_j * x^powers[j])| is smallest;
rounding happens one coefficient at a time, lowest power first, and the rest are fitted again, so that
what rounding lost is taken up by the later coefficients.
"""
import struct

import mpmath as mp

mp.mp.dps = 50


def round32(x):
    """The float nearest to x."""
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def round64(x):
    return mp.mpf(float(x))


def keep(x):
    return x


def cheb_grid(lo, hi, n):
    mid, half = (mp.mpf(lo) + hi) / 2, (mp.mpf(hi) - lo) / 2
    return [mid - half * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]


def _alternating(err, floor, want):
    """Indices of `want` extrema of alternating sign, none smaller than `floor`."""
    picks = []
    for i, e in enumerate(err):
        if abs(e) < floor:
            continue
        if picks and (err[picks[-1]] > 0) == (e > 0):
            if abs(e) > abs(err[picks[-1]]):
                picks[-1] = i
        else:
            picks.append(i)
    while len(picks) > want:
        picks.pop(0 if abs(err[picks[0]]) < abs(err[picks[-1]]) else -1)
    return picks


def _remez(columns, target, n_points):
    """columns[j][i], target[i]: minimise max_i |target_i - sum_j c_j columns_ji|."""
    n = len(columns)
    ref = [int(round(i * (n_points - 1) / n)) for i in range(n + 1)]
    best = None
    for _ in range(40):
        a = mp.matrix(n + 1, n + 1)
        b = mp.matrix(n + 1, 1)
        for row, i in enumerate(ref):
            for j in range(n):
                a[row, j] = columns[j][i]
            a[row, n] = (-1) ** row
            b[row] = target[i]
        sol = mp.lu_solve(a, b)
        err = [target[i] - mp.fsum(sol[j] * columns[j][i] for j in range(n)) for i in range(n_points)]
        worst = max(abs(e) for e in err)
        if best is None or worst < best[1]:
            best = ([sol[j] for j in range(n)], worst)
        if worst < abs(sol[n]) * mp.mpf("1.0001"):
            break
        new = _alternating(err, abs(sol[n]) * mp.mpf("0.9999"), n + 1)
        if len(new) < n + 1 or new == ref:
            break
        ref = new
    return best


def fit_poly(f, powers, lo, hi, weight, rounding=keep, n_points=600):
    """Returns (coefficients, worst weighted error after rounding)."""
    xs = cheb_grid(lo, hi, n_points)
    # a weight with a pole (relative error at a zero of f) must not be sampled there
    xs = [x if abs(x) > mp.mpf(10) ** -12 else mp.mpf(10) ** -12 for x in xs]
    ws = [weight(x) for x in xs]
    target = [w * f(x) for x, w in zip(xs, ws)]
    columns = [[w * x ** p for x, w in zip(xs, ws)] for p in powers]
    done = []
    for j in range(len(powers)):
        # what is left vanishes at 0 like x^powers[j]; a row's sign is free, and without this choice
        # an odd power would change it there and spoil the count of alternations
        sign = [mp.sign(x) ** powers[j] for x in xs]
        rest, _ = _remez([[g * v for g, v in zip(sign, col)] for col in columns[j:]],
                         [g * t for g, t in zip(sign, target)], len(xs))
        c = rounding(rest[0])
        done.append(c)
        target = [t - c * col for t, col in zip(target, columns[j])]
        if rounding is keep:
            done = [c] + rest[1:]
            target = [t - mp.fsum(k * col[i] for k, col in zip(rest[1:], columns[j + 1:]))
                      for i, t in enumerate(target)]
            break
    return done, max(abs(t) for t in target)


def fit_rational(f, n_num, n_den, lo, hi, weight, n_points=400, rounds=30):
    """P(x)/Q(x) with Q(0) = 1: the linearised error is divided by the previous Q until it settles."""
    xs = cheb_grid(lo, hi, n_points)
    xs = [x if abs(x) > mp.mpf(10) ** -12 else mp.mpf(10) ** -12 for x in xs]
    fs = [f(x) for x in xs]
    q_old = [mp.mpf(1)] * len(xs)
    best = None
    for _ in range(rounds):
        ws = [weight(x) / q for x, q in zip(xs, q_old)]
        cols = [[w * x ** p for x, w in zip(xs, ws)] for p in range(n_num)]
        cols += [[-w * y * x ** p for x, y, w in zip(xs, fs, ws)] for p in range(1, n_den)]
        sol, _ = _remez(cols, [w * y for w, y in zip(ws, fs)], len(xs))
        num, den = sol[:n_num], [mp.mpf(1)] + sol[n_num:]
        q_old = [mp.polyval(den[::-1], x) for x in xs]
        worst = max(abs(weight(x) * (y - mp.polyval(num[::-1], x) / q)) for x, y, q in zip(xs, fs, q_old))
        if best is None or worst < best[2]:
            best = (num, den, worst)
    return best

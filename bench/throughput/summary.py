# SPDX-License-Identifier: Apache-2.0
"""What is said about inferences a second: without any model, so that it can be tested anywhere.

    settings(2) -> ["2x1", "1x2"]
"""
import math


def settings(cores):
    """Streams x threads that fill the cores: one thread each, then twice as many each time, at last all for one."""
    found, threads = [], 1
    while threads < cores:
        found.append(f"{cores // threads}x{threads}")
        threads *= 2
    return [*found, f"1x{cores}"]


def best_by_name(rates):
    """{"tenon:2x1": 100.0, "tenon:1x2": 90.0, ..} -> {"tenon": ("2x1", 100.0), ..}"""
    best = {}
    for label, rate in rates.items():
        name, setting = label.split(":")
        if name not in best or rate > best[name][1]:
            best[name] = (setting, rate)
    return best


def gain(rates):
    """How many times the best peer's inferences a second tenon's best setting gives; None: somebody is missing."""
    best = best_by_name(rates)
    peers = [rate for name, (_, rate) in best.items() if name != "tenon"]
    return best["tenon"][1] / max(peers) if peers and "tenon" in best else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None

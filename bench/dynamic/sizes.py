# SPDX-License-Identifier: Apache-2.0
"""Which sizes are measured, and what is said about the times: without any model, so that it can be tested anywhere.

    sizes.draw({"batch": (1, 8), "seq": (1, 512)}, 20, seed=1) -> [{"batch": 3, "seq": 74}, ..]
"""
import dataclasses
import math
import random


@dataclasses.dataclass(frozen=True)
class Model:
    """A network of `tenon zoo` and the ranges of its open dimensions: first axis `batch`, then `seq` if it has one."""
    name: str
    ranges: dict  # name -> (least, most)
    quick: bool = False


MODELS = (
    Model("bert_base", {"batch": (1, 8), "seq": (1, 512)}),
    Model("bert_tiny", {"batch": (1, 8), "seq": (1, 512)}, quick=True),
    Model("resnet50", {"batch": (1, 8)}),
    Model("mobilenet_v2", {"batch": (1, 8)}),
    Model("squeezenet1_1", {"batch": (1, 8)}, quick=True),
)


def all_of(ranges):
    combinations = [{}]
    for name, (least, most) in ranges.items():
        combinations = [{**c, name: size} for c in combinations for size in range(least, most + 1)]
    return combinations


def draw(ranges, count, seed):
    """COUNT random sizes, none twice; all of them where there are no more."""
    every = all_of(ranges)
    return random.Random(seed).sample(every, min(count, len(every)))


def dims_text(sizes):
    """As --dims takes it: one size of each, or a range."""
    return ",".join(f"{name}={size[0]}..{size[1]}" if isinstance(size, tuple) else f"{name}={size}"
                    for name, size in sizes.items())


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary(rows):
    """Of the rows of one model: times of others over that of the library with open sizes; above 1 it is faster."""
    out = {}
    for other in ("exact", "onnxruntime"):
        ratios = [(row[other] / row["dynamic"], row["sizes"]) for row in rows if row.get(other) and row.get("dynamic")]
        if ratios:
            worst, where = min(ratios, key=lambda r: r[0])
            out[other] = {"mean": geometric_mean([r for r, _ in ratios]), "worst": worst, "at": where}
    return out

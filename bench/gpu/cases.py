# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench gpu` measures, as numbers and names only: no library is needed to read this.

    CASES["conv3x3_64_56"] -> Case(kind="conv", shape=(64, 56), repeat=8, ...)

An operator is measured as a chain of REPEAT of them, each with its own weights, and its time is the chain's over
REPEAT: the launch of a graph, which costs about as much as the kernel, then falls on all, and weights come from where
they come from in a network.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    kind: str         # "network", "conv" (3x3, channels @ extent), "matmul" (m x k x n), "pair" (and m x n x k),
                      # "norm" and "softmax" (rows x length)
    shape: tuple = ()
    repeat: int = 1
    goal: float = 0   # how many times as fast as the best peer it is to be; 0: nothing is asked


def network(name, goal):
    return Case(name, "network", goal=goal)


def conv(channels, extent, goal):
    return Case(f"conv3x3_{channels}_{extent}", "conv", (channels, extent), 8, goal)


def matmul(m, k, n, repeat, goal=0):
    name = f"matmul_{m}" if m == k == n else f"matmul_{m}x{k}x{n}"
    return Case(name, "matmul", (m, k, n), repeat, goal)


ALL = (
    network("resnet18", 3.8), network("resnet50", 3.5), network("mobilenet_v2", 2.6),
    network("efficientnet_b0", 2.4), network("vgg16", 2.2), network("bert_base", 1.7),
    conv(64, 56, 3.0), conv(128, 28, 3.0), conv(256, 14, 5.5), conv(512, 7, 9.0),
    matmul(4096, 4096, 4096, 2, 0.85), matmul(1024, 1024, 1024, 8),
    matmul(128, 768, 768, 32, 1.25),  # 32 of them have more weights than the card's cache holds
    matmul(128, 768, 3072, 1), matmul(128, 3072, 768, 1),
    # Long sums of one row, and rows: threads combine what they have.
    matmul(1, 4096, 4096, 8), Case("layer_norm_128x768", "norm", (128, 768), 16),
    Case("softmax_1536x128", "softmax", (1536, 128), 16),
    # Two of the products above, in turn, so that they make a chain: one layer's half of a transformer.
    Case("matmul_pair_768_3072", "pair", (128, 768, 3072), 8),
)
CASES = {case.name: case for case in ALL}
NETWORKS = tuple(case.name for case in ALL if case.kind == "network")
OPERATORS = tuple(case.name for case in ALL if case.kind != "network")
STANDARD = tuple(case.name for case in ALL if case.goal)  # something is asked of them


def choose(text):
    """The names that TEXT asks for: a list of names, with `networks`, `operators`, `standard` and `all` for many."""
    groups = {"all": tuple(CASES), "standard": STANDARD, "networks": NETWORKS, "operators": OPERATORS}
    names = [name for word in text.split(",") for name in groups.get(word, (word,))]
    unknown = [name for name in names if name not in CASES]
    if unknown:
        raise ValueError(f"there is no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return list(dict.fromkeys(names))

# SPDX-License-Identifier: Apache-2.0
"""Random operators, drawn as real models have them: draw(seed, count) -> [Case].

A case is the nodes of one operator with its weights; the same seed gives the same cases. Kinds come in turn, so that
each has its share. What would take more than MOST_FLOPS or MOST_ELEMENTS is drawn again.
"""
import dataclasses

import numpy as np

MOST_FLOPS = 3e9
MOST_ELEMENTS = 24e6  # of any tensor

CHANNELS = (1, 2, 3, 7, 8, 12, 16, 19, 21, 24, 32, 40, 48, 64, 80, 96, 112, 128, 144, 160, 192, 256, 320, 384, 480, 512,
            576, 672, 728, 768, 960, 1024, 1280, 1536, 2048)
SIDES = (1, 3, 7, 8, 10, 13, 14, 17, 19, 20, 26, 28, 32, 35, 40, 52, 56, 64, 80, 112, 128, 150, 160, 224)
LENGTHS = (1, 2, 5, 16, 31, 49, 64, 77, 100, 128, 196, 197, 256, 384, 512, 768, 1000, 1024, 1536, 2048, 3072, 4096)


@dataclasses.dataclass
class Case:
    name: str
    nodes: list    # (operator, inputs, outputs, attributes)
    inputs: dict   # name -> shape
    weights: dict  # name -> array
    flops: float


def pick(rng, values, low=0, high=None):
    chosen = [v for v in values if v >= low and (high is None or v <= high)]
    return int(rng.choice(chosen))


def weight(rng, *shape):
    """Scaled so that results are about as large as inputs."""
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)


def convolved(side, kernel, stride, dilation, padding):
    return (side + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def conv_case(name, rng, x, channels, kernel, stride, dilation, group):
    padding = [dilation * (k // 2) for k in kernel]
    sides = [convolved(s, k, stride, dilation, p) for s, k, p in zip(x[2:], kernel, padding)]
    if min(sides) < 1:
        return None
    attributes = {"kernel_shape": kernel, "strides": [stride] * len(kernel), "dilations": [dilation] * len(kernel),
                  "pads": padding * 2, "group": group}
    w = (channels, x[1] // group, *kernel)
    text = f"{name}_{'x'.join(map(str, x))}_to{channels}_k{'x'.join(map(str, kernel))}_s{stride}_d{dilation}_g{group}"
    return Case(text, [("Conv", ["x", "w", "b"], ["y"], attributes)], {"x": x},
                {"w": weight(rng, *w), "b": weight(rng, channels)},
                2.0 * x[0] * np.prod(w, dtype=float) * np.prod(sides, dtype=float))


def draw_conv(rng):
    k = pick(rng, (1, 1, 3, 3, 3, 5, 7, 9))
    kernel = [[k, k], [k, k], [k, k], [1, 3], [3, 1]][int(rng.integers(5))]
    side = pick(rng, SIDES)
    return conv_case("conv", rng, (pick(rng, (1, 1, 1, 2, 4, 8)), pick(rng, CHANNELS), side, side), pick(rng, CHANNELS), kernel,
                     pick(rng, (1, 1, 1, 2, 3)), 1, 1)


def draw_dilated(rng):
    side = pick(rng, SIDES, 14, 80)
    return conv_case("dilated", rng, (1, pick(rng, CHANNELS, 16), side, side), pick(rng, CHANNELS, 8), [3, 3], 1,
                     pick(rng, (2, 4, 6, 12, 18, 24, 36)), 1)


def draw_grouped(rng):
    group, each = pick(rng, (2, 4, 8, 16, 32, 64)), pick(rng, (1, 2, 3, 4, 8, 16, 32))
    side = pick(rng, SIDES, 7)
    return conv_case("grouped", rng, (pick(rng, (1, 1, 4)), group * each, side, side), group * pick(rng, (1, 2, 4, 8, 16)),
                     [3, 3], pick(rng, (1, 1, 2)), 1, group)


def draw_depthwise(rng):
    channels, side, k = pick(rng, CHANNELS, 3), pick(rng, SIDES, 7), pick(rng, (3, 3, 5, 7, 9))
    return conv_case("depthwise", rng, (pick(rng, (1, 1, 4)), channels, side, side), channels, [k, k],
                     pick(rng, (1, 1, 2)), pick(rng, (1, 1, 1, 2)), channels)


def draw_conv1d(rng):
    return conv_case("conv1d", rng, (1, pick(rng, CHANNELS), pick(rng, LENGTHS, 16)), pick(rng, CHANNELS),
                     [pick(rng, (1, 3, 5, 7, 9))], pick(rng, (1, 1, 2, 3)), pick(rng, (1, 1, 2, 4, 8)), 1)


def draw_conv3d(rng):
    side = pick(rng, SIDES, 7, 56)
    return conv_case("conv3d", rng, (1, pick(rng, CHANNELS, 1, 256), pick(rng, (2, 4, 8, 16)), side, side),
                     pick(rng, CHANNELS, 8, 256), [3, 3, 3], pick(rng, (1, 1, 2)), 1, 1)


def draw_transposed(rng):
    stride, side = pick(rng, (2, 2, 3, 4)), pick(rng, SIDES, 7, 112)
    k = stride * pick(rng, (1, 2)) if rng.integers(2) else 3
    ci, co = pick(rng, CHANNELS, 8, 512), pick(rng, CHANNELS, 1, 256)
    w = (ci, co, k, k)
    attributes = {"kernel_shape": [k, k], "strides": [stride] * 2, "pads": [(k - stride) // 2 if k > stride else 0] * 4}
    return Case(f"transposed_{ci}x{side}x{side}_to{co}_k{k}_s{stride}", [("ConvTranspose", ["x", "w"], ["y"], attributes)],
                {"x": (1, ci, side, side)}, {"w": weight(rng, *w)}, 2.0 * np.prod(w, dtype=float) * side * side)


def draw_matmul(rng):
    m, k, n = (pick(rng, LENGTHS) for _ in range(3))
    return Case(f"matmul_{m}x{k}x{n}", [("MatMul", ["x", "w"], ["y"], {})], {"x": (m, k)}, {"w": weight(rng, k, n)},
                2.0 * m * k * n)


def draw_batched(rng):
    b, m, k, n = pick(rng, (2, 8, 12, 16, 96)), *(pick(rng, LENGTHS, 1, 1024) for _ in range(3))
    return Case(f"batched_{b}x{m}x{k}x{n}", [("MatMul", ["x", "z"], ["y"], {})], {"x": (b, m, k), "z": (b, k, n)}, {},
                2.0 * b * m * k * n)


def draw_pool(rng):
    k, side = pick(rng, (2, 3, 5, 7)), pick(rng, SIDES, 14)
    x = (pick(rng, (1, 1, 4)), pick(rng, CHANNELS), side, side)
    attributes = {"kernel_shape": [k, k], "strides": [pick(rng, (1, 2, 2, 3))] * 2, "pads": [k // 2] * 4}
    kind = str(rng.choice(["MaxPool", "AveragePool"]))
    return Case(f"{kind.lower()}_{'x'.join(map(str, x))}_k{k}_s{attributes['strides'][0]}",
                [(kind, ["x"], ["y"], attributes)], {"x": x}, {}, float(np.prod(x)) * k * k)


def draw_resize(rng):
    side, mode, scale = pick(rng, SIDES, 7, 112), str(rng.choice(["nearest", "linear"])), pick(rng, (2, 2, 3, 4))
    x = (1, pick(rng, CHANNELS), side, side)
    return Case(f"resize_{'x'.join(map(str, x))}_{mode}{scale}", [("Resize", ["x", "", "s"], ["y"], {"mode": mode})],
                {"x": x}, {"s": np.array([1, 1, scale, scale], np.float32)}, float(np.prod(x)) * scale * scale)


def draw_rows(rng):
    """Softmax, norms, means and maxima over rows or columns."""
    kind = str(rng.choice(["Softmax", "LayerNormalization", "ReduceMean", "ReduceMax", "LogSoftmax"]))
    x = (pick(rng, (1, 4, 12, 64)), pick(rng, LENGTHS, 16, 1024), pick(rng, LENGTHS, 16, 2048))
    axis = -1 if kind == "LayerNormalization" else int(rng.choice([-1, -1, 1]))
    text = f"{kind.lower()}_{'x'.join(map(str, x))}_axis{axis % 3}"
    if kind == "LayerNormalization":
        weights = {"w": weight(rng, x[2]), "b": weight(rng, x[2])}
        return Case(text, [(kind, ["x", "w", "b"], ["y"], {"axis": -1})], {"x": x}, weights, 6.0 * np.prod(x))
    attributes = {"axes": [axis]} if kind.startswith("Reduce") else {"axis": axis}
    return Case(text, [(kind, ["x"], ["y"], attributes)], {"x": x}, {}, 4.0 * np.prod(x))


def draw_moves(rng):
    """Concatenation and transposition."""
    side = pick(rng, SIDES, 7, 112)
    c1, c2 = pick(rng, CHANNELS, 8, 512), pick(rng, CHANNELS, 8, 512)
    if rng.integers(2):
        return Case(f"concat_{c1}+{c2}x{side}x{side}", [("Concat", ["x", "z"], ["y"], {"axis": 1})],
                    {"x": (1, c1, side, side), "z": (1, c2, side, side)}, {}, float((c1 + c2) * side * side))
    perm = [int(p) for p in rng.permutation(4)]
    return Case(f"transpose_{c1}x{side}x{side}_{''.join(map(str, perm))}", [("Transpose", ["x"], ["y"], {"perm": perm})],
                {"x": (2, c1, side, side)}, {}, 2.0 * c1 * side * side)


def draw_recurrent(rng):
    kind, gates = [("LSTM", 4), ("GRU", 3)][int(rng.integers(2))]
    steps, batch = pick(rng, (1, 4, 16, 50)), pick(rng, (1, 1, 4, 8))
    size, hidden = pick(rng, CHANNELS, 16, 512), pick(rng, CHANNELS, 16, 512)
    weights = {"w": weight(rng, 1, gates * hidden, size), "r": weight(rng, 1, gates * hidden, hidden)}
    return Case(f"{kind.lower()}_{steps}x{batch}x{size}_h{hidden}", [(kind, ["x", "w", "r"], ["y"], {"hidden_size": hidden})],
                {"x": (steps, batch, size)}, weights, 2.0 * steps * batch * gates * hidden * (size + hidden))


KINDS = {"conv": draw_conv, "dilated": draw_dilated, "grouped": draw_grouped, "depthwise": draw_depthwise,
         "conv1d": draw_conv1d, "conv3d": draw_conv3d, "transposed": draw_transposed, "matmul": draw_matmul,
         "batched": draw_batched, "pool": draw_pool, "resize": draw_resize, "rows": draw_rows, "moves": draw_moves,
         "recurrent": draw_recurrent, "pointwise": lambda rng: conv_case(
             "pointwise", rng, (1, pick(rng, CHANNELS), *[pick(rng, SIDES)] * 2), pick(rng, CHANNELS), [1, 1],
             pick(rng, (1, 1, 1, 2)), 1, 1)}


def fits(case):
    tensors = [np.prod(s, dtype=float) for s in case.inputs.values()] + [w.size for w in case.weights.values()]
    return case.flops <= MOST_FLOPS and max(tensors) <= MOST_ELEMENTS


def draw(seed, count, kinds=None):
    rng, names, cases = np.random.default_rng(seed), list(kinds or KINDS), {}
    while len(cases) < count:
        case = KINDS[names[len(cases) % len(names)]](rng)
        if case is not None and fits(case):
            cases.setdefault(case.name, case)
    return list(cases.values())

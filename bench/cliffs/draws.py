# SPDX-License-Identifier: Apache-2.0
"""Random operators, drawn as real models have them: draw(seed, count) -> [Case].

A case is the nodes of one operator with its weights, and what it cannot do without: arithmetic and bytes. The same seed
gives the same cases. Kinds come in turn, so that each has its share. What would take more than MOST_FLOPS or
MOST_ELEMENTS is drawn again.
"""
import dataclasses

import numpy as np

MOST_FLOPS = 3e9
MOST_ELEMENTS = 16e6  # of any tensor
EXPONENTIAL = 10      # instructions of one by the shortest polynomial that is right in float32

CHANNELS = (1, 2, 3, 7, 8, 12, 16, 19, 21, 24, 32, 40, 48, 64, 80, 96, 112, 128, 144, 160, 192, 256, 320, 384, 480, 512,
            576, 672, 728, 768, 960, 1024, 1280, 1536, 2048)
SIDES = (1, 3, 7, 8, 10, 13, 14, 17, 19, 20, 26, 28, 32, 35, 40, 52, 56, 64, 80, 112, 128, 150, 160, 224)
LENGTHS = (1, 2, 5, 16, 31, 49, 64, 77, 100, 128, 196, 197, 256, 384, 512, 768, 1000, 1024, 1536, 2048, 3072, 4096)


@dataclasses.dataclass
class Case:
    name: str
    nodes: list       # (operator, inputs, outputs, attributes)
    inputs: dict      # name -> shape
    weights: dict     # name -> shape
    output: tuple     # shape
    flops: float      # twice the arithmetic instructions per lane: a multiplication with its addition counts 2, a maximum 2
    again: float = 0  # bytes that have to be read once more, step after step
    constants: dict = dataclasses.field(default_factory=dict)  # name -> array
    kind: str = ""

    def elements(self):
        return [np.prod(shape, dtype=float) for shape in (*self.inputs.values(), *self.weights.values(), self.output)]

    def bytes(self):
        return 4 * sum(self.elements())

    def draw_weights(self):
        """Scaled so that results are about as large as inputs."""
        rng = np.random.default_rng(1)
        return {name: (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)
                for name, shape in self.weights.items()}


def pick(rng, values, low=0, high=None):
    chosen = [v for v in values if v >= low and (high is None or v <= high)]
    return int(rng.choice(chosen))


def text(shape):
    return "x".join(map(str, shape))


def convolved(side, kernel, stride, dilation, padding):
    return (side + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def taps(side, out, kernel, stride, dilation, padding):
    """Pairs of an output and a tap that does not fall on padding, along one dimension."""
    at = np.arange(out)[:, None] * stride + np.arange(kernel) * dilation - padding
    return float(((at >= 0) & (at < side)).sum())


def conv_case(name, x, channels, kernel, stride, dilation, group):
    padding = [dilation * (k // 2) for k in kernel]
    sides = [convolved(s, k, stride, dilation, p) for s, k, p in zip(x[2:], kernel, padding)]
    if min(sides) < 1:
        return None
    attributes = {"kernel_shape": kernel, "strides": [stride] * len(kernel), "dilations": [dilation] * len(kernel),
                  "pads": padding * 2, "group": group}
    used = [taps(s, o, k, stride, dilation, p) for s, o, k, p in zip(x[2:], sides, kernel, padding)]
    return Case(f"{name}_{text(x)}_to{channels}_k{text(kernel)}_s{stride}_d{dilation}_g{group}",
                [("Conv", ["x", "w", "b"], ["y"], attributes)], {"x": x},
                {"w": (channels, x[1] // group, *kernel), "b": (channels,)},
                (x[0], channels, *sides), 2.0 * x[0] * channels * (x[1] // group) * np.prod(used))


def draw_conv(rng):
    k = pick(rng, (1, 1, 3, 3, 3, 5, 7, 9))
    kernel = [[k, k], [k, k], [k, k], [1, 3], [3, 1]][int(rng.integers(5))]
    side = pick(rng, SIDES)
    return conv_case("conv", (pick(rng, (1, 1, 1, 2, 4, 8)), pick(rng, CHANNELS), side, side), pick(rng, CHANNELS), kernel,
                     pick(rng, (1, 1, 1, 2, 3)), 1, 1)


def draw_pointwise(rng):
    side = pick(rng, SIDES)
    return conv_case("pointwise", (1, pick(rng, CHANNELS), side, side), pick(rng, CHANNELS), [1, 1],
                     pick(rng, (1, 1, 1, 2)), 1, 1)


def draw_dilated(rng):
    side = pick(rng, SIDES, 14, 80)
    return conv_case("dilated", (1, pick(rng, CHANNELS, 16), side, side), pick(rng, CHANNELS, 8), [3, 3], 1,
                     pick(rng, (2, 4, 6, 12, 18, 24, 36)), 1)


def draw_grouped(rng):
    group, each = pick(rng, (2, 4, 8, 16, 32, 64)), pick(rng, (1, 2, 3, 4, 8, 16, 32))
    side = pick(rng, SIDES, 7)
    return conv_case("grouped", (pick(rng, (1, 1, 4)), group * each, side, side), group * pick(rng, (1, 2, 4, 8, 16)),
                     [3, 3], pick(rng, (1, 1, 2)), 1, group)


def draw_depthwise(rng):
    channels, side, k = pick(rng, CHANNELS, 3), pick(rng, SIDES, 7), pick(rng, (3, 3, 5, 7, 9))
    return conv_case("depthwise", (pick(rng, (1, 1, 4)), channels, side, side), channels, [k, k],
                     pick(rng, (1, 1, 2)), pick(rng, (1, 1, 1, 2)), channels)


def draw_conv1d(rng):
    return conv_case("conv1d", (1, pick(rng, CHANNELS), pick(rng, LENGTHS, 16)), pick(rng, CHANNELS),
                     [pick(rng, (1, 3, 5, 7, 9))], pick(rng, (1, 1, 2, 3)), pick(rng, (1, 1, 2, 4, 8)), 1)


def draw_conv3d(rng):
    side = pick(rng, SIDES, 7, 56)
    return conv_case("conv3d", (1, pick(rng, CHANNELS, 1, 256), pick(rng, (2, 4, 8, 16)), side, side),
                     pick(rng, CHANNELS, 8, 256), [3, 3, 3], pick(rng, (1, 1, 2)), 1, 1)


def transposed_case(channels, side, to, kernel, stride):
    padding = (kernel - stride) // 2 if kernel > stride else 0
    out = stride * (side - 1) + kernel - 2 * padding
    at = np.arange(side)[:, None] * stride + np.arange(kernel) - padding
    used = float(((at >= 0) & (at < out)).sum())
    attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [padding] * 4}
    return Case(f"transposed_{channels}x{side}x{side}_to{to}_k{kernel}_s{stride}",
                [("ConvTranspose", ["x", "w"], ["y"], attributes)], {"x": (1, channels, side, side)},
                {"w": (channels, to, kernel, kernel)}, (1, to, out, out), 2.0 * channels * to * used * used)


def draw_transposed(rng):
    stride, side = pick(rng, (2, 2, 3, 4)), pick(rng, SIDES, 7, 112)
    kernel = stride * pick(rng, (1, 2)) if rng.integers(2) else 3
    to = pick(rng, CHANNELS, 1, 256) if rng.integers(3) else pick(rng, (1, 2, 3, 21))
    return transposed_case(pick(rng, CHANNELS, 8, 512), side, to, kernel, stride)


def matmul_case(m, k, n):
    return Case(f"matmul_{m}x{k}x{n}", [("MatMul", ["x", "w"], ["y"], {})], {"x": (m, k)}, {"w": (k, n)}, (m, n),
                2.0 * m * k * n)


def draw_matmul(rng):
    return matmul_case(*(pick(rng, LENGTHS) for _ in range(3)))


def batched_case(b, m, k, n):
    return Case(f"batched_{b}x{m}x{k}x{n}", [("MatMul", ["x", "z"], ["y"], {})], {"x": (b, m, k), "z": (b, k, n)}, {},
                (b, m, n), 2.0 * b * m * k * n)


def draw_batched(rng):
    return batched_case(pick(rng, (2, 8, 12, 16, 96)), *(pick(rng, LENGTHS) for _ in range(3)))


def pool_case(kind, x, k, stride):
    side = x[2]
    out = convolved(side, k, stride, 1, k // 2)
    attributes = {"kernel_shape": [k, k], "strides": [stride] * 2, "pads": [k // 2] * 4}
    used = taps(side, out, k, stride, 1, k // 2)
    return Case(f"{kind.lower()}_{text(x)}_k{k}_s{stride}", [(kind, ["x"], ["y"], attributes)], {"x": x}, {},
                (x[0], x[1], out, out), 2.0 * x[0] * x[1] * used * used)


def draw_pool(rng):
    k, side, stride = pick(rng, (2, 3, 5, 7)), pick(rng, SIDES, 14), pick(rng, (1, 2, 2, 3))
    x = (pick(rng, (1, 1, 4)), pick(rng, CHANNELS), side, side)
    return pool_case(str(rng.choice(["MaxPool", "AveragePool"])), x, k, stride)


def resize_case(x, mode, scale):
    output = (*x[:2], scale * x[2], scale * x[3])
    return Case(f"resize_{text(x)}_{mode}{scale}", [("Resize", ["x", "", "s"], ["y"], {"mode": mode})],
                {"x": x}, {}, output,
                0.0 if mode == "nearest" else 6.0 * np.prod(output),
                constants={"s": np.array([1, 1, scale, scale], np.float32)})


def draw_resize(rng):
    side, mode, scale = pick(rng, SIDES, 7, 112), str(rng.choice(["nearest", "linear"])), pick(rng, (2, 2, 3, 4))
    return resize_case((1, pick(rng, CHANNELS), side, side), mode, scale)


def softmax_case(kind, x, axis):
    # The maximum, the difference, its exponential, the sum; and the quotient, or a second difference.
    return Case(f"{kind.lower()}_{text(x)}_axis{axis % len(x)}", [(kind, ["x"], ["y"], {"axis": axis})], {"x": x}, {}, x,
                2.0 * (4 + EXPONENTIAL) * np.prod(x))


def draw_softmax(rng):
    x = (pick(rng, (1, 4, 12, 64)), pick(rng, LENGTHS, 16, 1024), pick(rng, LENGTHS, 16, 2048))
    return softmax_case(str(rng.choice(["Softmax", "Softmax", "LogSoftmax"])), x, int(rng.choice([-1, -1, 1])))


def draw_norm(rng):
    """Over rows, or over the positions of each channel."""
    if rng.integers(2):
        x = (pick(rng, (1, 4, 12, 64)), pick(rng, LENGTHS, 16, 1024), pick(rng, LENGTHS, 16, 4096))
        return Case(f"layernorm_{text(x)}", [("LayerNormalization", ["x", "w", "b"], ["y"], {"axis": -1})], {"x": x},
                    {"w": (x[2],), "b": (x[2],)}, x, 10.0 * np.prod(x))
    side, channels = pick(rng, SIDES, 7), pick(rng, CHANNELS)
    x = (pick(rng, (1, 1, 4)), channels, side, side)
    return Case(f"instancenorm_{text(x)}", [("InstanceNormalization", ["x", "w", "b"], ["y"], {})], {"x": x},
                {"w": (channels,), "b": (channels,)}, x, 8.0 * np.prod(x))


def reduction_case(kind, x, axes):
    output = tuple(1 if d in axes else n for d, n in enumerate(x))
    return Case(f"{kind.lower()}_{text(x)}_axes{''.join(map(str, axes))}", [(kind, ["x"], ["y"], {"axes": axes})], {"x": x},
                {}, output, 2.0 * np.prod(x))


def draw_reduction(rng):
    """Over any dimensions, first and last ones and all of them too."""
    kind = str(rng.choice(["ReduceMean", "ReduceMax", "ReduceL2"]))
    x = (pick(rng, (1, 4, 12, 64)), pick(rng, LENGTHS, 5, 1024), pick(rng, LENGTHS, 5, 2048))
    return reduction_case(kind, x, [[0], [1], [2], [2], [1, 2], [0, 1], [0, 1, 2]][int(rng.integers(7))])


def draw_moves(rng):
    """Concatenation and transposition."""
    side = pick(rng, SIDES, 7, 112)
    c1, c2 = pick(rng, CHANNELS, 8, 512), pick(rng, CHANNELS, 8, 512)
    if rng.integers(2):
        return Case(f"concat_{c1}+{c2}x{side}x{side}", [("Concat", ["x", "z"], ["y"], {"axis": 1})],
                    {"x": (1, c1, side, side), "z": (1, c2, side, side)}, {}, (1, c1 + c2, side, side), 0.0)
    perm, x = [int(p) for p in rng.permutation(4)], (2, c1, side, side)
    return Case(f"transpose_{c1}x{side}x{side}_{''.join(map(str, perm))}", [("Transpose", ["x"], ["y"], {"perm": perm})],
                {"x": x}, {}, tuple(x[p] for p in perm), 0.0)


def draw_recurrent(rng):
    kind, gates = [("LSTM", 4), ("GRU", 3)][int(rng.integers(2))]
    steps, batch = pick(rng, (1, 4, 16, 50)), pick(rng, (1, 1, 4, 8))
    size, hidden = pick(rng, CHANNELS, 16, 512), pick(rng, CHANNELS, 16, 512)
    weights = {"w": (1, gates * hidden, size), "r": (1, gates * hidden, hidden)}
    return Case(f"{kind.lower()}_{steps}x{batch}x{size}_h{hidden}", [(kind, ["x", "w", "r"], ["y"], {"hidden_size": hidden})],
                {"x": (steps, batch, size)}, weights, (steps, 1, batch, hidden),
                2.0 * steps * batch * gates * hidden * (size + hidden), 4.0 * (steps - 1) * gates * hidden * hidden)


KINDS = {"conv": draw_conv, "pointwise": draw_pointwise, "dilated": draw_dilated, "grouped": draw_grouped,
         "depthwise": draw_depthwise, "conv1d": draw_conv1d, "conv3d": draw_conv3d, "transposed": draw_transposed,
         "matmul": draw_matmul, "batched": draw_batched, "pool": draw_pool, "resize": draw_resize, "softmax": draw_softmax,
         "norm": draw_norm, "reduction": draw_reduction, "moves": draw_moves, "recurrent": draw_recurrent}


def fits(case):
    return case.flops <= MOST_FLOPS and max(case.elements()) <= MOST_ELEMENTS


def draw(seed, count, kinds=None):
    """COUNT cases, of which those of KINDS are kept."""
    rng, names, cases = np.random.default_rng(seed), list(KINDS), {}
    while len(cases) < count:
        kind = names[len(cases) % len(names)]
        case = KINDS[kind](rng)
        if case is not None and fits(case):
            cases.setdefault(case.name, dataclasses.replace(case, kind=kind))
    return [case for case in cases.values() if not kinds or case.kind in kinds]

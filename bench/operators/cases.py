# SPDX-License-Identifier: Apache-2.0
"""The operators and subgraphs of the Ansor paper's evaluation (section 7.1 and 7.2), batch 1, float32.

    all_cases() -> [Case("C1D", (256, 64, 128, 3, 2, 1)), ...]

Numbers only, no library: the exporter and PyTorch's forms both read them.
"""
import dataclasses
import math

CAPSULE = 4  # a pose is a matrix of CAPSULE x CAPSULE

C2D = ((224, 224, 3, 64, 7, 2, 3), (56, 56, 64, 64, 1, 1, 0), (14, 14, 256, 256, 3, 1, 1), (7, 7, 512, 512, 3, 1, 1))

# Kind -> shapes: convolutions are (spatial.., ci, co, k, s, p), depthwise ones (h, w, c, k, s, p).
SHAPES = {
    "C1D": ((256, 64, 128, 3, 2, 1), (128, 128, 256, 1, 2, 0), (64, 256, 256, 5, 1, 2), (32, 512, 512, 3, 1, 1)),
    "C2D": C2D,
    "C3D": tuple((16, *shape) for shape in C2D),
    "GMM": ((128, 128, 128), (512, 32, 512), (512, 512, 512), (1024, 1024, 1024)),  # (N, M, K)
    # Three channels do not make four groups: the first shape has four input channels.
    "GRP": ((224, 224, 4, 64, 7, 2, 3), *C2D[1:]),
    "DIL": C2D,
    "DEP": ((112, 112, 32, 3, 1, 1), (112, 112, 64, 3, 2, 1), (14, 14, 512, 3, 2, 1), (7, 7, 1024, 3, 1, 1)),
    "T2D": ((4, 4, 512, 256, 4, 2, 1), (8, 8, 256, 128, 4, 2, 1), (16, 16, 128, 64, 4, 2, 1),
            (32, 32, 64, 3, 4, 2, 1)),
    "CAP": ((16, 16, 32, 32, 3, 2, 1), (8, 8, 32, 32, 3, 1, 1), (16, 16, 8, 16, 3, 2, 1), (8, 8, 16, 16, 3, 1, 1)),
    "NRM": ((256, 256), (512, 512), (1024, 1024), (4096, 4096)),
    "ConvLayer": ((224, 224, 3, 64, 7, 2, 3), (56, 56, 64, 64, 3, 2, 1), (28, 28, 128, 256, 1, 2, 0),
                  (7, 7, 512, 512, 3, 1, 1)),
    "TBS": ((128, 12, 64), (128, 16, 64), (64, 12, 128), (128, 12, 128)),  # (sequence, heads, size of a head)
}
CONVOLUTIONS = ("C1D", "C2D", "C3D", "GRP", "DIL", "DEP", "T2D", "CAP", "ConvLayer")


@dataclasses.dataclass(frozen=True)
class Case:
    op: str
    shape: tuple

    @property
    def name(self):
        return f"{self.op.lower()}_{'_'.join(map(str, self.shape))}"

    @property
    def shape_text(self):
        return ",".join(map(str, self.shape))


@dataclasses.dataclass(frozen=True)
class Conv:
    """What a convolution is made of; WEIGHT as ONNX has it, and as PyTorch has it too."""
    input: tuple
    weight: tuple
    stride: int
    padding: int
    dilation: int = 1
    groups: int = 1
    transposed: bool = False

    @property
    def output(self):
        extents = self.input[2:]
        if self.transposed:
            made = [(x - 1) * self.stride - 2 * self.padding + k for x, k in zip(extents, self.weight[2:])]
            return (self.input[0], self.weight[1], *made)
        made = [(x + 2 * self.padding - self.dilation * (k - 1) - 1) // self.stride + 1
                for x, k in zip(extents, self.weight[2:])]
        return (self.input[0], self.weight[0], *made)

    @property
    def multiplications(self):
        """Those with padding count, as everywhere; those with the zeros between a transposed one's inputs do not."""
        return math.prod(self.input if self.transposed else self.output) * math.prod(self.weight[1:])


def conv_of(case):
    """The convolution of every kind that has one; of CAP it is the one over poses' rows as batch."""
    if case.op == "DEP":
        *extents, channels, kernel, stride, padding = case.shape
        return Conv((1, channels, *extents), (channels, 1, *[kernel] * len(extents)), stride, padding, groups=channels)
    *extents, ci, co, kernel, stride, padding = case.shape
    kernels = [kernel] * len(extents)
    if case.op == "T2D":
        return Conv((1, ci, *extents), (ci, co, *kernels), stride, padding, transposed=True)
    if case.op == "CAP":
        return Conv((CAPSULE, ci * CAPSULE, *extents), (co * CAPSULE, ci * CAPSULE, *kernels), stride, padding)
    groups = 4 if case.op == "GRP" else 1
    return Conv((1, ci, *extents), (co, ci // groups, *kernels), stride, padding, 2 if case.op == "DIL" else 1, groups)


def flops(case):
    if case.op in ("GMM", "NRM"):
        return 2 * math.prod(case.shape)
    if case.op == "TBS":
        sequence, heads, size = case.shape
        return 2 * heads * sequence * sequence * size
    return 2 * conv_of(case).multiplications


def all_cases():
    return [Case(op, shape) for op, shapes in SHAPES.items() for shape in shapes]


def find(name):
    return next(case for case in all_cases() if case.name == name)

# SPDX-License-Identifier: Apache-2.0
"""Cliffs of the past: cases() -> [Case], at least one for each cause that was removed."""
import dataclasses

import draws

KIND = "known"


def gelu_case(*x):
    """By the error function, as exporters write it."""
    constants = {"r": draws.np.float32(2 ** 0.5), "one": draws.np.float32(1), "half": draws.np.float32(0.5)}
    nodes = [("Div", ["x", "r"], ["a"], {}), ("Erf", ["a"], ["e"], {}), ("Add", ["e", "one"], ["f"], {}),
             ("Mul", ["x", "f"], ["g"], {}), ("Mul", ["g", "half"], ["y"], {})]
    return draws.Case(f"gelu_{draws.text(x)}", nodes, {"x": x}, {}, x, 2.0 * (4 + ERROR_FUNCTION) * draws.np.prod(x),
                      constants={name: draws.np.array(v) for name, v in constants.items()})


ERROR_FUNCTION = 14  # instructions of one by the shortest polynomials that are right in float32


def cases():
    found = [
        # Few output channels of a transposed convolution, and sums in vectors that are not full.
        draws.transposed_case(64, 56, 1, 4, 2),
        draws.transposed_case(64, 32, 3, 4, 2),
        draws.transposed_case(96, 28, 2, 3, 3),
        # More code than a program may have: the plain loops were taken.
        draws.transposed_case(96, 19, 64, 6, 3),
        # Taps that are far apart: Winograd's algorithm on images that are mostly padding.
        draws.conv_case("dilated", (1, 256, 33, 33), 256, [3, 3], 1, 24, 1),
        draws.conv_case("dilated", (1, 256, 65, 65), 64, [3, 3], 1, 36, 1),
        # Few output channels, or few in a group.
        draws.conv_case("grouped", (1, 256, 56, 56), 64, [3, 3], 1, 1, 64),
        draws.conv_case("grouped", (1, 256, 56, 56), 256, [3, 3], 1, 1, 64),
        # Large kernels on small images, whose taps are mostly on padding.
        draws.conv_case("conv", (1, 576, 8, 8), 48, [9, 9], 1, 1, 1),
        # Sums over other dimensions than the last.
        draws.reduction_case("ReduceMean", (64, 128, 128), [0, 1]),
        draws.softmax_case("Softmax", (4, 49, 1024), 1),
        # Sums of two elements, one at a time.
        draws.resize_case((1, 320, 14, 14), "linear", 2),
        # Rows that are read by a table of places, element by element.
        draws.resize_case((1, 112, 26, 26), "linear", 3),
        draws.resize_case((1, 16, 64, 64), "nearest", 3),
        # Taps of a stride, each of which read its vectors for itself.
        draws.pool_case("MaxPool", (4, 512, 32, 32), 3, 2),
        draws.conv_case("depthwise", (1, 728, 56, 56), 728, [7, 7], 2, 1, 728),
        # Elements of planes that collide in the cache, and few rows at a time for the same reason.
        draws.conv_case("pointwise", (1, 21, 128, 128), 24, [1, 1], 1, 1, 1),
        draws.matmul_case(384, 1024, 49),
        # More rows of many channels than may be copied.
        draws.conv_case("conv", (1, 64, 112, 112), 1, [3, 3], 1, 1, 1),
        # Rows of less than two vectors, summed one by one.
        draws.softmax_case("Softmax", (64, 1000, 31), -1),
        # Fewer columns than lanes.
        draws.conv_case("grouped", (4, 512, 13, 13), 128, [3, 3], 2, 1, 64),
        # Phases that were written lane by lane, to planes that collide in the cache too.
        draws.transposed_case(19, 26, 7, 3, 2),
        draws.transposed_case(8, 64, 160, 3, 3),
        # A second operand whose last panel is not full.
        draws.batched_case(2, 1024, 128, 31),
        draws.matmul_case(4096, 128, 31),
        # A second operand that was packed for few rows.
        draws.batched_case(8, 2, 4096, 256),
        draws.batched_case(2, 25, 512, 197),
        # Results written panel after panel, a line of every row or channel at a time.
        draws.batched_case(8, 1024, 5, 512),
        draws.conv_case("pointwise", (1, 19, 128, 128), 960, [1, 1], 1, 1, 1),
        # Large windows on row-major images.
        draws.pool_case("AveragePool", (1, 192, 128, 128), 5, 2),
        # Channels that fill no vectors.
        draws.transposed_case(480, 80, 21, 2, 2),
        # Sums of Strassen's algorithm that no cache holds.
        draws.matmul_case(1000, 3072, 768),
        draws.softmax_case("Softmax", (12, 128, 128), -1),
        gelu_case(128, 3072),
        draws.matmul_case(2048, 512, 1024),
        draws.matmul_case(128, 768, 3072),
    ]
    return [dataclasses.replace(case, kind=KIND) for case in found]

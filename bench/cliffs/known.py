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
        # Few output channels of a transposed convolution.
        draws.transposed_case(64, 56, 1, 4, 2),
        draws.transposed_case(64, 32, 3, 4, 2),
        # Taps that are far apart.
        draws.conv_case("dilated", (1, 256, 33, 33), 256, [3, 3], 1, 24, 1),
        draws.conv_case("dilated", (1, 256, 65, 65), 64, [3, 3], 1, 36, 1),
        draws.softmax_case("Softmax", (12, 128, 128), -1),
        gelu_case(128, 3072),
        draws.matmul_case(2048, 512, 1024),
        draws.matmul_case(128, 768, 3072),
    ]
    return [dataclasses.replace(case, kind=KIND) for case in found]

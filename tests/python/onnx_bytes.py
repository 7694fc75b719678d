# SPDX-License-Identifier: Apache-2.0
"""Models with open sizes, as bytes: Debian's python3 has no package that writes ONNX's messages."""


def number(field, value):
    """A varint field of a protobuf message."""
    out = bytes([field << 3])
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def part(field, value):
    data = value.encode() if isinstance(value, str) else value
    head, length = bytes([field << 3 | 2]), len(data)
    assert length < 1 << 14
    size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    return head + size + data


def value_info(name, *dims):
    shape = b"".join(part(1, part(2, d) if isinstance(d, str) else number(1, d)) for d in dims)
    return part(1, name) + part(2, part(1, number(1, 1) + part(2, shape)))


def softmax_of_sum():
    """softmax(x + y) of batch x seq."""
    add = part(1, "x") + part(1, "y") + part(2, "s") + part(4, "Add")
    softmax = part(1, "s") + part(2, "z") + part(4, "Softmax")
    graph = part(1, add) + part(1, softmax) + part(2, "g")
    graph += part(11, value_info("x", "batch", "seq")) + part(11, value_info("y", "batch", "seq"))
    graph += part(12, value_info("z", "batch", "seq"))
    return number(1, 8) + part(8, part(1, "") + number(2, 17)) + part(7, graph)


def past_and_next():
    """past + x, side by side, of which a mask takes some."""
    axis = part(1, "axis") + number(3, 1) + bytes([20 << 3 & 127 | 128, 1, 2])
    concat = part(1, "past") + part(1, "x") + part(2, "all") + part(4, "Concat") + part(5, axis)
    multiply = part(1, "all") + part(1, "mask") + part(2, "y") + part(4, "Mul")
    graph = part(1, concat) + part(1, multiply) + part(2, "g")
    graph += part(11, value_info("x", "batch", 1)) + part(11, value_info("mask", "batch", "past + 1"))
    graph += part(11, value_info("past", "batch", "past"))
    graph += part(12, value_info("y", "batch", "past + 1"))
    return number(1, 8) + part(8, part(1, "") + number(2, 17)) + part(7, graph)


def nameless():
    """relu(x) of ? x 3 x ? x ?."""
    unknown = part(2, part(1, number(1, 1) + part(2, b"".join(part(1, d) for d in (b"", number(1, 3), b"", b"")))))
    relu = part(1, "x") + part(2, "y") + part(4, "Relu")
    graph = part(1, relu) + part(2, "g") + part(11, part(1, "x") + unknown) + part(12, part(1, "y") + unknown)
    return number(1, 8) + part(8, part(1, "") + number(2, 17)) + part(7, graph)

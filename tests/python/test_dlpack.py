# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries, which lend their memory by DLPack."""
import ctypes

import numpy as np
import pytest

import tenon

X = np.arange(60, dtype="float32").reshape(3, 4, 5)


class Lender:
    """An array that is no array to NumPy's eyes; it counts how often it lent its memory."""

    def __init__(self, array, device=1):
        self.array, self.device, self.lent = array, device, 0

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, stream=None):
        self.lent += 1
        return self.array.__dlpack__()


def test_reads_where_it_lies(add):
    lender = Lender(X)
    np.testing.assert_array_equal(add(lender, lender), X + X)
    assert lender.lent == 2


def test_writes_where_it_lies(add):
    out = np.zeros_like(X)
    add.run_into(Lender(out), X, Lender(X))
    np.testing.assert_array_equal(out, X + X)


def test_results_can_be_lent_on(add):
    y = add(X, X)
    again = np.from_dlpack(y)
    assert again.ctypes.data == y.ctypes.data


def test_lent_memory_is_given_back(add):
    """The array is alive while it is lent, and free after the call."""
    import sys
    x = X.copy()
    before = sys.getrefcount(x)
    add(Lender(x), X)
    assert sys.getrefcount(x) == before


def test_a_used_capsule_is_not_freed_twice(add):
    capsule = X.__dlpack__()
    taken = type("Once", (), {"__dlpack__": lambda self: capsule,
                              "__dlpack_device__": lambda self: (1, 0)})()
    np.testing.assert_array_equal(add(taken, X), X + X)
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(capsule) == b"used_dltensor"
    with pytest.raises(ValueError):
        add(taken, X)


@pytest.mark.parametrize("lender, says", [
    (Lender(X, device=2), "does not lie in the CPU's memory"),
    (Lender(X.astype("int64")), "is f32 3x4x5, not i64 3x4x5"),
    (Lender(X[0]), "is f32 3x4x5, not f32 4x5"),
    (Lender(X.T.copy().T), "is not dense in C order"),
])
def test_refuses(add, lender, says):
    with pytest.raises(tenon.Error, match=says):
        add(lender, X)


def test_torch(add):
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    x = torch.from_numpy(X.copy())
    y = torch.from_dlpack(add(x, x))
    assert torch.equal(y, x + x)

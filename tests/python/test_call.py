# SPDX-License-Identifier: Apache-2.0
"""Arrays in, arrays out: by place, by name, of other strides and types, and what is refused."""
import numpy as np
import pytest

import tenon
from conftest import node_model

X = np.arange(60, dtype="float32").reshape(3, 4, 5)
Y = np.full((3, 4, 5), 0.5, "float32")


def test_describes_itself(module):
    (frames,), (values,) = module.inputs, module.outputs
    assert (frames.name, frames.dtype, frames.shape) == ("frames", np.float32, (1, 4, 84, 84))
    assert frames.nbytes == 4 * 4 * 84 * 84
    assert (values.name, values.shape) == ("q_values", (1, 18))
    assert module.name == "dqn" and module.threads == 1
    assert '"schema"' in module.manifest
    assert repr(module) == "<tenon.Module dqn: 1 in, 1 out, 1 thread>"


def test_by_place_and_by_name(add):
    names = [t.name for t in add.inputs]
    for got in (add(X, Y), add(**dict(zip(names, (X, Y)))), add(X, **{names[1]: Y})):
        np.testing.assert_array_equal(got, X + Y)
        assert got.dtype == np.float32 and got.flags.writeable
        assert got.ctypes.data % 64 == 0


def test_results_are_the_callers(add):
    first = add(X, Y)
    kept = first.copy()
    add(Y, Y)
    np.testing.assert_array_equal(first, kept)


def test_several_outputs_are_a_tuple():
    split = tenon.compile(node_model("test_split_equal_parts_1d"), threads=1)
    x = np.arange(6, dtype="float32")
    got = split(x)
    assert isinstance(got, tuple)
    np.testing.assert_array_equal(np.concatenate(got), x)
    into = [np.empty(2, "float32") for _ in got]
    split.run_into(into, x)
    np.testing.assert_array_equal(np.concatenate(into), x)


@pytest.mark.parametrize("same", [
    lambda x: np.asfortranarray(x),
    lambda x: np.concatenate([x, x], axis=2)[:, :, 5:],
    lambda x: x[::-1][::-1],
    lambda x: x.astype(">f4"),
    lambda x: x.tolist(),
])
def test_other_forms_of_the_same_numbers(add, same):
    np.testing.assert_array_equal(add(same(X), Y), X + Y)


def test_memory_at_any_address(add):
    raw = np.empty(X.nbytes + 64, "uint8")
    for shift in (1, 3, 4, 63):
        x = raw[shift:shift + X.nbytes].view("float32").reshape(X.shape)
        x[...] = X
        into = np.empty(X.nbytes + 64, "uint8")[shift:shift + X.nbytes].view("float32")
        add.run_into(into.reshape(X.shape), x, Y)
        np.testing.assert_array_equal(into.reshape(X.shape), X + Y)


def test_bools_and_bfloat16():
    both = tenon.compile(node_model("test_and2d"), threads=1)
    a, b = np.random.default_rng(1).integers(0, 2, (2, 3, 4)).astype(bool)
    np.testing.assert_array_equal(both(a, b), a & b)
    narrow = tenon.compile(node_model("test_cast_FLOAT_to_BFLOAT16"), threads=1)
    x = np.full(narrow.inputs[0].shape, 1.5, "float32")
    got = narrow(x)
    assert got.dtype == np.dtype("V2")
    assert (got.view("uint16") == 0x3FC0).all()


@pytest.mark.parametrize("args, says", [
    ((X.astype("float64"), Y), "is f32 3x4x5, not f64 3x4x5 (convert it: x.astype('float32'))"),
    ((X, Y.astype("int32")), "is f32 3x4x5, not i32 3x4x5"),
    ((X[0], Y), "is f32 3x4x5, not f32 4x5"),
    ((X, 1.0), "is f32 3x4x5, not f32 scalar"),
    ((X,), "takes 2 inputs (x, y), not 1 by place"),
    ((X, Y, Y), "takes 2 inputs (x, y), not 3 by place"),
    ((), "takes 2 inputs (x, y), not none"),
])
def test_refuses_with_a_sentence(add, args, says):
    with pytest.raises(tenon.Error) as caught:
        add(*args)
    assert says in str(caught.value)
    np.testing.assert_array_equal(add(X, Y), X + Y)


def test_refuses_names(add):
    for named in ({"x": X, "z": Y}, {"x": X, "y": Y, "z": Y}):
        with pytest.raises(tenon.Error, match="takes 2 inputs .x, y., not x, "):
            add(**named)


def test_run_into_writes_in_place(add):
    out = np.zeros_like(X)
    add.run_into(out, X, Y)
    np.testing.assert_array_equal(out, X + Y)
    add.run_into([out], X, y=X)
    np.testing.assert_array_equal(out, X + X)


@pytest.mark.parametrize("out, says", [
    (np.zeros((3, 4, 5)), "is f32 3x4x5, not f64"),
    (np.zeros((5, 4, 3), "float32").T, "dense array in C order"),
    (np.frombuffer(bytes(240), "float32").reshape(3, 4, 5), "writable array"),
    ([], "has 1 output, not 0"),
    ([[1.0]], "must be an array to write to"),
])
def test_run_into_refuses(add, out, says):
    with pytest.raises(tenon.Error, match=says):
        add.run_into(out, X, Y)


def test_profile_names_steps(module):
    steps = module.profile(runs=3)
    assert all(s.seconds > 0 and s.kernel for s in steps)
    assert any("conv" in node.lower() for s in steps for node in s.nodes)
    x = np.zeros((1, 4, 84, 84), "float32")
    assert len(module.profile(x, runs=1)) == len(steps)
    with pytest.raises(tenon.Error, match="at least one run"):
        module.profile(runs=0)

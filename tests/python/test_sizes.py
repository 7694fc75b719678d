# SPDX-License-Identifier: Apache-2.0
"""Modules that take arrays of several sizes."""
import threading

import numpy as np
import pytest

import tenon
from onnx_bytes import past_and_next, softmax_of_sum


def expected(x, y):
    e = np.exp(x + y - (x + y).max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def sized():
    return tenon.compile(softmax_of_sum(), dims={"batch": "1..4", "seq": range(3, 12, 4)}, threads=1)


def arrays(rng, batch, seq):
    return (rng.standard_normal((batch, seq)).astype("float32") for _ in range(2))


def test_takes_every_size(sized):
    assert sized.dims == {"batch": [1, 2, 3, 4], "seq": [3, 7, 11]}
    assert sized.inputs[0].shape == (4, 11) and sized.inputs[0].dims == [0, 1]
    rng = np.random.default_rng(1)
    for batch in (4, 1, 3, 2, 3):
        for seq in (3, 11, 7):
            x, y = arrays(rng, batch, seq)
            got = sized(x, y)
            assert got.shape == (batch, seq)
            np.testing.assert_allclose(got, expected(x, y), rtol=1e-5, atol=1e-6)
            into = np.empty_like(got)
            sized.run_into(into, x, y=y)
            np.testing.assert_array_equal(into, got)


@pytest.mark.parametrize("shape", [(5, 3), (0, 3), (2, 4), (2, 3, 1), (2,)])
def test_refuses_others(sized, shape):
    x = np.zeros(shape, "float32")
    with pytest.raises(tenon.Error, match="input 'x'"):
        sized(x, x)


def test_a_wrong_type_says_no_shape_where_several_are_taken(sized):
    x = np.zeros((2, 3), "float32")
    with pytest.raises(tenon.Error) as caught:
        sized(x, x.astype("float64"))
    assert caught.value.sentence == "input 'y' is f32, not f64 (convert it: x.astype('float32'))"


def test_refuses_two_sizes_of_one_dimension(sized):
    with pytest.raises(tenon.Error, match="input 'x' has size 2 where batch is 3 by the other inputs"):
        sized(np.zeros((2, 3), "float32"), np.zeros((3, 3), "float32"))
    x = np.ones((2, 3), "float32")
    np.testing.assert_allclose(sized(x, x), np.full((2, 3), 1 / 3), rtol=1e-5)


def test_axes_that_are_computed_of_others():
    module = tenon.compile(past_and_next(), dims={"batch": 2, "past": "1..3"}, threads=1)
    assert module.dims == {"past": [1, 2, 3]}
    rng = np.random.default_rng(2)
    for length in (3, 1, 2):
        x, mask, past = (rng.standard_normal((2, n)).astype("float32") for n in (1, length + 1, length))
        np.testing.assert_allclose(module(x, mask, past), np.hstack([past, x]) * mask, rtol=1e-6)
    one, four = np.zeros((2, 1), "float32"), np.zeros((2, 4), "float32")
    with pytest.raises(tenon.Error, match=r"input 'mask' has size 4 where past \+ 1 is 2"):
        module(one, four, one)
    with pytest.raises(tenon.Error, match=r"input 'mask' takes 2 x \(past \+ 1\)"):
        module(one, np.zeros((2, 9), "float32"), one)


def test_profiles_the_size_of_the_inputs(sized):
    x = np.ones((1, 3), "float32")
    small = sum(step.flops for step in sized.profile(x, x, runs=1))
    assert 0 < small < sum(step.flops for step in sized.profile(runs=1))


def test_threads_of_different_sizes(sized):
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            x, y = arrays(rng, int(rng.integers(1, 5)), int(rng.choice([3, 7, 11])))
            if not np.allclose(sized(x, y), expected(x, y), atol=1e-5):
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_batch_is_open_by_default():
    module = tenon.compile(softmax_of_sum(), dims={"seq": 5}, threads=1)
    assert module.dims == {"batch": list(range(1, 9))}
    with pytest.raises(tenon.Error, match="seq") as caught:
        tenon.compile(softmax_of_sum(), threads=1)
    assert caught.value.hint == 'give sizes: dims={"seq": 128}'

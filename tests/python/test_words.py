# SPDX-License-Identifier: Apache-2.0
"""What the program says names options of its command line; in Python these are keyword arguments."""
import pytest

import tenon
from onnx_bytes import nameless, softmax_of_sum
from tenon._words import in_python


@pytest.mark.parametrize("said, told", [
    ("give sizes: --dims seq=128,n=5", 'give sizes: dims={"seq": 128, "n": 5}'),
    ("give sizes: --dims 'a long name=128'", 'give sizes: dims={"a long name": 128}'),
    ("(--dims seq=16,32,b=1..8)", '(dims={"seq": "16,32", "b": "1..8"})'),
    ("--shape x:1..8x3x224", 'dims={"x": ("1..8", 3, 224)}'),
    ("--shape 'x[16..512:16]'", 'dims={"x": ("16..512:16",)}'),
    ("--dims n=5 --shape x:3x4 --shape y:4", 'dims={"n": 5, "x": (3, 4), "y": (4,)}'),
    ("--dims n=5 or --shape x:3x4", 'dims={"n": 5} or dims={"x": (3, 4)}'),
    ("'--dims n=-1': '-1' is no size", "'dims={\"n\": -1}': '-1' is no size"),
    ("'--bind x=abc': 'abc' is no f32", "'bind={\"x\": \"abc\"}': 'abc' is no f32"),
    ("--bind x=-1.5e-3,2", 'bind={"x": [-1.5e-3, 2]}'),
    ("make it a constant: --bind sr=N", 'make it a constant: bind={"sr": N}'),
    ("--bind on=true --bind k=1,N --bind a=@a.npy", 'bind={"on": True, "k": [1, N], "a": np.load("a.npy")}'),
    ("compile with --target x86-64-v2", 'compile with target="x86-64-v2"'),
    ('compile it with --target "cuda sm_90"', 'compile it with target="cuda sm_90"'),
    ("off by 0.1; --accuracy strict allows 0.01", 'off by 0.1; accuracy="strict" allows 0.01'),
    ("--db x.pg: only SQLite files can be used", 'db="x.pg": only SQLite files can be used'),
    ("name a database with --db FILE", "name a database with db=FILE"),
])
def test_options_with_a_value(said, told):
    assert in_python(said) == told
    assert in_python(told) == told


@pytest.mark.parametrize("said, told", [
    ("use another file (--db)", "use another file (db=)"),
    ("known when compiling: --bind makes an input a constant", "known when compiling: bind= makes an input a constant"),
    ("--budget: 'soon' is no time", "budget: 'soon' is no time"),
    ("--dims 'x': NAME=N expected", "dims= 'x': NAME=N expected"),
])
def test_options_that_are_only_named(said, told):
    assert in_python(said) == told


@pytest.mark.parametrize("said, told", [
    ("tenon: error: stdin: 1 input needs sizes", "tenon: error: model: 1 input needs sizes"),
    ("(tenon compile MODEL -o DIR --emit so,h writes one)", "(tenon.compile(MODEL, out=DIR) writes one)"),
    ("(tenon tune -h shows its use)", "(help(tenon.tune) shows its use)"),
    ("(tenon compile makes libraries for several)", "(tenon.compile makes libraries for several)"),
])
def test_command_lines_that_are_calls(said, told):
    assert in_python(said) == told


@pytest.mark.parametrize("said", [
    "",
    "without --frozen it gets its default schedule",
    "no tasks (tenon tune --threads 2 --dry-run lists the tasks of a model)",
    "there is no option '--foo' (tenon compile -h lists its options)",
    "the name is a--dims x=1",
    "a -- b",
])
def test_what_stays_as_it_is(said):
    assert in_python(said) == said


def keywords(hint):
    """The arguments that a hint proposes."""
    return eval(f"dict({hint.partition(': ')[2]})")


@pytest.mark.parametrize("model", [softmax_of_sum, nameless])
def test_a_hint_can_be_taken_at_its_word(model):
    with pytest.raises(tenon.Error) as caught:
        tenon.compile(model())
    assert caught.value.hint.startswith("give sizes: dims={")
    assert "--" not in str(caught.value)
    assert caught.value.sentence.startswith("model: ")
    module = tenon.compile(model(), **keywords(caught.value.hint))
    assert module.dims["batch"] == list(range(1, 9))


def test_what_was_asked_for_is_told_as_it_was_written():
    with pytest.raises(tenon.Error, match="'dims={\"seq\": \"none\"}': 'none' is no size"):
        tenon.compile(softmax_of_sum(), dims={"seq": "none"})
    with pytest.raises(tenon.Error, match="^budget"):
        tenon.tune(softmax_of_sum(), dims={"seq": 4}, budget="soon")


def test_commands_keep_their_options(tmp_path):
    (tmp_path / "open.onnx").write_bytes(softmax_of_sum())
    with pytest.raises(tenon.Error) as caught:
        tenon.command("check", str(tmp_path / "open.onnx"))
    assert caught.value.hint == "give sizes: --dims seq=128"

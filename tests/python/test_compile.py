# SPDX-License-Identifier: Apache-2.0
"""From models to modules: what the tenon program does for the package, and what it refuses."""
import json
import os
import pathlib
import signal
import threading

import numpy as np
import pytest

import tenon
from conftest import node_model
from onnx_bytes import softmax_of_sum

TUNE = dict(options=["--sim", "--history", "off", "--cost-model", "random"], budget=None)


def test_a_folder_of_its_own_goes_with_the_module():
    module = tenon.compile(node_model("test_relu"))
    folder = pathlib.Path(module.folder)
    assert folder.is_dir()
    del module
    assert not folder.exists()


def test_a_given_folder_stays(dqn, module, tmp_path):
    x = np.ones((1, 4, 84, 84), "float32")
    again = tenon.load(module.folder, threads=2)
    assert again.threads == 2
    np.testing.assert_allclose(again(x), module(x), rtol=1e-5)


def test_takes_bytes_and_messages():
    data = node_model("test_relu").read_bytes()
    message = type("ModelProto", (), {"SerializeToString": lambda self: data})()
    x = np.linspace(-1, 1, 60, dtype="float32").reshape(3, 4, 5)
    for model in (data, bytearray(data), message):
        module = tenon.compile(model)
        assert module.name == "model"
        np.testing.assert_array_equal(module(x), np.maximum(x, 0))


def test_sizes_of_dimensions(tmp_path):
    """A whole shape by the input's name; a name that the model has not is refused."""
    module = tenon.compile(node_model("test_relu"), dims={"x": (3, 4, 5)})
    assert module.inputs[0].shape == (3, 4, 5)
    with pytest.raises(tenon.Error, match="batch"):
        tenon.compile(node_model("test_relu"), dims={"batch": 2})


def test_sizes_are_whole_numbers():
    assert tenon.compile(softmax_of_sum(), dims={"batch": np.int64(2), "seq": 3}).inputs[0].shape == (2, 3)
    with pytest.raises(TypeError, match=r"dims\['seq'\] is 1.5: a size is wanted"):
        tenon.compile(softmax_of_sum(), dims={"seq": 1.5})


def test_target_and_accuracy(dqn):
    module = tenon.compile(dqn, target="x86-64-v3", accuracy="strict")
    assert module.target == "x86-64-v3"
    with pytest.raises(tenon.Error) as caught:
        tenon.compile(dqn, target="pdp-11")
    assert "pdp-11" in caught.value.sentence and caught.value.hint
    assert caught.value.exit_code == 2


def test_errors_are_the_sentences_of_the_command(tmp_path):
    with pytest.raises(tenon.Error, match="no.onnx: there is no such file") as caught:
        tenon.compile(tmp_path / "no.onnx", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert caught.value.exit_code == 2
    with pytest.raises(tenon.Error, match="nothing: there is no such file or folder") as caught:
        tenon.load(tmp_path / "nothing")
    assert caught.value.hint == "tenon.compile(MODEL, out=DIR) writes one"
    (tmp_path / "letter.json").write_text("{}")
    with pytest.raises(tenon.Error, match="is not a manifest"):
        tenon.load(tmp_path / "letter.json")


def test_errors_tell_nothing_but_what_is_wrong():
    """That a batch has gone by its default, and which name was taken, is no part of it."""
    model = pathlib.Path("/usr/share/libonnx-testdata/data/simple/test_sequence_model8/model.onnx")
    with pytest.raises(tenon.Error) as caught:
        tenon.compile(model, dims={"m": 1})
    assert caught.value.details == ()


@pytest.mark.parametrize("kept", [[False, True, True], np.array([False, True, True])])
def test_inputs_become_constants(kept):
    module = tenon.compile(node_model("test_compress_0"), bind={"condition": kept})
    assert [t.name for t in module.inputs] == ["input"]
    x = np.arange(6, dtype="float32").reshape(3, 2)
    np.testing.assert_array_equal(module(x), x[1:])


def test_every_node_that_cannot_be_imported_is_told():
    with pytest.raises(tenon.Error) as caught:
        tenon.compile(node_model("test_optional_has_element"))
    assert caught.value.exit_code == 3


def test_a_damaged_artifact_is_refused(tmp_path):
    module = tenon.compile(node_model("test_relu"), out=tmp_path / "out")
    name = module.name
    del module
    with open(tmp_path / "out" / f"lib{name}.so", "ab") as f:
        f.write(b"x")
    with pytest.raises(tenon.Error, match="its hash differs") as caught:
        tenon.load(tmp_path / "out")
    assert caught.value.hint == "compile the model again"


@pytest.mark.parametrize("sentence, hint", [
    ("no such thing (did you mean 'x'?)", "did you mean 'x'?"),
    ("no such thing", ""),
    ("f(x) fails (use g(x))", "use g(x)"),
    ("call f()", ""),
    ("ends in ) alone )", ""),
    ("", ""),
])
def test_hints(sentence, hint):  # in brackets, or behind a line
    assert tenon.Error(sentence).hint == hint


def test_hints_of_details():
    lines = ("missing  input \"x\": is open", "missing  input \"y\": is open  hint: give sizes: --dims n=1")
    assert tenon.Error("m: 2 inputs need sizes", lines).hint == "give sizes: --dims n=1"
    assert tenon.Error("no such thing (use y)", lines).hint == "use y"


def test_the_version_is_that_of_the_program():
    assert tenon.command("version").strip().startswith(f"tenon {tenon.__version__}")


def test_tune_tells_events_and_loads_the_best(dqn, tmp_path):
    events = []
    module = tenon.tune(dqn, trials=12, progress=events.append, db=str(tmp_path / "t.db"),
                        out=tmp_path / "out", threads=1, **TUNE)
    kinds = [e["event"] for e in events]
    assert kinds[0] == "run" and kinds[-1] == "end"
    assert "default" in kinds and "artifact" in kinds
    assert all(isinstance(e["t"], float) for e in events)
    assert module(np.ones((1, 4, 84, 84), "float32")).shape == (1, 18)


def test_an_exception_of_the_callback_ends_the_search(dqn, tmp_path):
    def stop(event):
        if event["event"] == "round":
            raise ZeroDivisionError("enough")

    with pytest.raises(ZeroDivisionError, match="enough"):
        tenon.tune(dqn, trials=100000, progress=stop, db=str(tmp_path / "t.db"),
                   out=tmp_path / "out", **TUNE)
    runs = json.loads(tenon.command("db", "ls", "--runs", "--json", "--db", str(tmp_path / "t.db")))
    assert runs
    tenon.load(tmp_path / "out")  # the best so far lies there at every moment


def test_ctrl_c_ends_the_search(dqn, tmp_path):
    def interrupt(event):
        if event["event"] == "round" and not asked:
            asked.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    asked = []
    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        tenon.tune(dqn, trials=100000, progress=interrupt, db=str(tmp_path / "t.db"),
                   out=tmp_path / "out", **TUNE)


def test_the_package_has_types():
    package = pathlib.Path(tenon.__file__).parent
    assert (package / "py.typed").exists()
    stub = (package / "_native.pyi").read_text()
    for kind in (tenon.Module, tenon.Tensor, tenon.Step):
        for name in vars(kind):
            if not name.startswith("_"):
                assert f"def {name}(" in stub, f"{kind.__name__}.{name} is not in _native.pyi"

# SPDX-License-Identifier: Apache-2.0
"""From a model to a Module: compile, tune, load."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any, Callable, Mapping, Optional, Union

import numpy as np

from . import _program
from ._native import Module
from ._words import in_python

Model = Union[str, "os.PathLike[str]", bytes, Any]
Dims = Mapping[str, Union[int, str, range, Sequence[Union[int, str]]]]
Bind = Mapping[str, Any]  # numbers, truth values, lists of these, or arrays


def load(folder: Union[str, "os.PathLike[str]"], *, threads: int = 0) -> Module:
    """A model that was compiled before: the folder that `tenon compile -o` wrote.

    threads: of each run; 0: one per core.
    """
    return Module(os.fspath(folder), threads)


def _model_arguments(model: Model) -> tuple[list[str], bytes]:
    """The command's arguments for a model, and what it reads on stdin."""
    if hasattr(model, "SerializeToString"):  # an onnx.ModelProto
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        return ["-", "--name", "model"], bytes(model)
    return [os.fspath(model)], b""


def _dims_arguments(dims: Optional[Dims]) -> list[str]:
    args = []
    for name, size in (dims or {}).items():
        if isinstance(size, str) or hasattr(size, "__index__"):  # NumPy's whole numbers, too
            args += ["--dims", f"{name}={size}"]
        elif isinstance(size, range):
            args += ["--dims", f"{name}={'|'.join(str(n) for n in size)}"]
        elif isinstance(size, Sequence):
            args += ["--shape", f"{name}[{','.join(str(n) for n in size)}]"]
        else:
            raise TypeError(f"dims[{name!r}] is {size!r}: a size is wanted, a text such as '1..8', a range, or a shape")
    return args


def _bind_arguments(bind: Optional[Bind], folder: str) -> list[str]:
    """Arrays go through files in `folder`; numbers get the type of the input from the program."""
    args = []
    for at, (name, value) in enumerate((bind or {}).items()):
        if isinstance(value, np.ndarray) and value.ndim > 0:
            file = os.path.join(folder, f"{at}.npy")
            np.save(file, value)
            text = "@" + file
        else:
            text = ",".join(str(v).lower() for v in (value if isinstance(value, (list, tuple)) else [value]))
        args += ["--bind", f"{name}={text}"]
    return args


def _make(command: str, model: Model, dims: Optional[Dims], bind: Optional[Bind], target: str, accuracy: str,
          out: Union[str, "os.PathLike[str]", None], threads: int, options: Sequence[str],
          line: Optional[Callable[[bytes], None]] = None) -> Module:
    """Runs the command and loads what it wrote; without `out` the folder goes with the Module."""
    arguments, stdin = _model_arguments(model)
    folder = tempfile.mkdtemp(prefix="tenon-python-") if out is None else os.fspath(out)
    try:
        with tempfile.TemporaryDirectory(prefix="tenon-python-") as arrays:
            _program.run([command, *arguments, "-o", folder, "--target", target, "--accuracy", accuracy,
                          *_dims_arguments(dims), *_bind_arguments(bind, arrays), *options], stdin, line, in_python)
        module = Module(folder, threads)
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if out is None:
        weakref.finalize(module, shutil.rmtree, folder, ignore_errors=True)
    return module


def compile(model: Model, *, dims: Optional[Dims] = None, bind: Optional[Bind] = None, target: str = "host",
            accuracy: str = "default", out: Union[str, "os.PathLike[str]", None] = None,
            threads: int = 0, options: Sequence[str] = ()) -> Module:
    """Compiles an ONNX model (a path, its bytes or an onnx.ModelProto) and loads it.

    dims: sizes of open dimensions by name, {"batch": 1}, or whole shapes by input, {"x": (1, 3)}. Several sizes
    that one library serves: {"batch": "1..8"}, {"seq": range(16, 513, 16)}, {"x": ("1..8", 3)}.
    bind: inputs that become constants, {"sr": 16000}.
    target: "host", or a name such as "x86-64-v3". accuracy: "strict", "default" or "fast".
    out: the folder to write; without it there is none once the Module is gone.
    threads: of each run; 0: one per core. options: more of `tenon compile`, ["--lock", "old"].
    """
    return _make("compile", model, dims, bind, target, accuracy, out, threads, ["--json", *options])


def tune(model: Model, *, budget: Optional[str] = "60s", trials: Optional[int] = None,
         progress: Optional[Callable[[dict[str, Any]], None]] = None, db: Optional[str] = None,
         dims: Optional[Dims] = None, bind: Optional[Bind] = None, target: str = "host", accuracy: str = "default",
         out: Union[str, "os.PathLike[str]", None] = None, threads: int = 0,
         options: Sequence[str] = ()) -> Module:
    """Searches for faster schedules, measures them on this machine, and loads the best verified.

    budget: how long ("60s", "5m"); trials: how many programs at most. progress is called with each
    event as a dict; an exception of it, or Ctrl-C, ends the search, and what was measured is kept.
    db: the file of records; without it the user's own. The rest is as for compile.
    """
    how = ["--jsonl", "--progress", "none"]
    for option, value in (("--budget", budget), ("--trials", trials), ("--db", db)):
        how += [option, str(value)] if value is not None else []
    how += ["--threads", str(threads)] if threads > 0 else []
    line = None if progress is None else lambda text: progress(json.loads(text))
    return _make("tune", model, dims, bind, target, accuracy, out, threads, [*how, *options], line)

# SPDX-License-Identifier: Apache-2.0
"""How tenon and each peer run a model: NAME -> function(Job) -> Runner. Only worker.py loads this.

All compute in float32 (OpenVINO would pick bfloat16 by itself where the CPU has it) with the given number of
threads, on one set of input buffers that is filled once; reading the outputs is no part of the measured time.
Each contestant is set up as its own documentation advises for latency.
"""
import _ctypes
import ctypes
import dataclasses
import functools
import importlib
import os
import pathlib
import time
from typing import Callable

import numpy as np


@dataclasses.dataclass
class Job:
    name: str
    model: pathlib.Path     # NAME.onnx, with NAME.npz beside it
    artifact: pathlib.Path  # the directory that `tenon compile` or `tenon tune` wrote
    definitions: str        # the module whose restore(NAME, MODEL) gives PyTorch's forms: label -> nn.Module
    threads: int
    inputs: dict            # name -> array
    outputs: list           # those to expect


@dataclasses.dataclass
class Runner:
    run: Callable[[], object]
    outputs: Callable[[object], list]  # what run() returned -> arrays
    detail: dict = dataclasses.field(default_factory=dict)
    measure: Callable[[float, int], list] | None = None  # (seconds, warmup) -> times, where it is not run by run (streams.py)
    close: Callable[[], None] = lambda: None  # gives back what Python does not


def onnxruntime_session(job, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    return onnxruntime.InferenceSession(str(job.model), options, providers=["CPUExecutionProvider"])


def onnxruntime_runner(session, inputs):
    """Sessions may run several of these at once."""
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return Runner(lambda: session.run_with_iobinding(binding), lambda _: binding.copy_outputs_to_cpu())


def make_onnxruntime(job):
    return onnxruntime_runner(onnxruntime_session(job, job.threads), job.inputs)


def make_openvino(job):
    import openvino
    compiled = openvino.Core().compile_model(str(job.model), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(job.threads),
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for name, array in job.inputs.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
    return Runner(request.infer, lambda _: [request.get_output_tensor(i).data
                                            for i in range(len(job.outputs))])


def make_tvm(job):
    os.environ["TVM_NUM_THREADS"] = str(job.threads)
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    module = from_onnx(onnx.load(str(job.model)), keep_params_in_input=False)
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(),
                                "num-cores": job.threads})
    with tvm.transform.PassContext(opt_level=3):
        machine = relax.VirtualMachine(tvm.compile(module, target), tvm.cpu())
    main, inputs = machine["main"], [tvm.runtime.tensor(array) for array in job.inputs.values()]

    def outputs(result):
        return [x.numpy() for x in ([result] if hasattr(result, "numpy") else result)]
    return Runner(lambda: main(*inputs), outputs)


def pytorch_forms(modules, inputs):
    """(form, callable) of each module: eager, and frozen TorchScript with its optimisations for inference."""
    import torch
    for label, module in modules.items():
        yield f"{label} eager".strip(), module
        try:
            frozen = torch.jit.freeze(torch.jit.trace(module, inputs))
            yield f"{label} frozen".strip(), frozen
            yield f"{label} optimized".strip(), torch.jit.optimize_for_inference(frozen)
        except RuntimeError:
            continue  # not every module can be traced or converted; its forms so far stand


def make_pytorch(job):
    """The fastest of PyTorch's forms that gives the right answer; which one stands in `detail`."""
    import torch
    torch.set_num_threads(job.threads)
    modules = importlib.import_module(job.definitions).restore(job.name, job.model)
    inputs = tuple(torch.from_numpy(array) for array in job.inputs.values())
    want, best = job.outputs[0], None
    with torch.inference_mode():
        for form, function in pytorch_forms(modules, inputs):
            try:
                got = [function(*inputs) for _ in range(3)][-1].numpy()
            except RuntimeError:
                continue
            time_s = fastest(lambda: function(*inputs))
            right = np.abs(got - want).max() <= 1e-3 * np.abs(want).max()
            if right and (best is None or time_s < best[0]):
                best = (time_s, form, function)
    if best is None:
        raise RuntimeError("none of PyTorch's forms gives the right answer")
    _, form, function = best

    def run():
        with torch.inference_mode():
            return function(*inputs)
    return Runner(run, lambda output: [output.numpy()], {"form": form})


def fastest(function, least=5, seconds=0.05):
    """The best of at least LEAST calls, and of more while SECONDS last: short functions need many."""
    times = [timed(function) for _ in range(least)]
    while sum(times) < seconds:
        times.append(timed(function))
    return min(times)


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def aligned(array, alignment=64):
    """A copy of ARRAY that begins at a multiple of ALIGNMENT bytes."""
    memory = np.empty(array.nbytes + alignment, np.uint8)
    start = -memory.ctypes.data % alignment
    copy = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def set_shapes(library, name, context, inputs):
    """Where sizes are open: those of the inputs."""
    if getattr(library, f"{name}_dim_count")() == 0:
        return
    set_shape = getattr(library, f"{name}_set_shape")
    set_shape.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64), ctypes.c_int32,
                          ctypes.POINTER(ctypes.c_char_p)]
    for index, array in enumerate(inputs):
        why = ctypes.c_char_p()
        if set_shape(context, index, (ctypes.c_int64 * array.ndim)(*array.shape), array.ndim, ctypes.byref(why)) != 0:
            raise RuntimeError((why.value or b"set_shape failed without a reason").decode())


class TenonLibrary:
    """The compiled artifact through the C interface of its header."""

    def __init__(self, job):
        self.job, path = job, next(job.artifact.glob("lib*.so"))
        self.name, self.library = path.stem[len("lib"):], ctypes.CDLL(str(path))
        self.create, self.run = self.function("create"), self.function("run")
        self.create.argtypes = [ctypes.c_int32, ctypes.POINTER(ctypes.c_char_p)]
        self.create.restype = ctypes.c_void_p
        self.run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

    def function(self, verb):
        return getattr(self.library, f"{self.name}_{verb}")

    def inputs(self):
        """Copies of the job's, in order."""
        input_at = self.function("input")
        input_at.restype = ctypes.POINTER(ctypes.c_char_p)  # the name is the struct's first member
        return [aligned(self.job.inputs[input_at(i)[0].decode()]) for i in range(self.function("input_count")())]

    def context(self, threads):
        """A Runner of its own."""
        why, inputs = ctypes.c_char_p(), self.inputs()
        outputs = [aligned(np.zeros_like(array)) for array in self.job.outputs]
        input_pointers, output_pointers = pointers(inputs), pointers(outputs)
        start = time.perf_counter()
        context = self.create(threads, ctypes.byref(why))
        if not context:
            raise RuntimeError((why.value or b"create failed without a reason").decode())
        created = time.perf_counter()
        set_shapes(self.library, self.name, context, inputs)

        def infer(_alive=inputs):  # the pointers alone do not keep the inputs
            status = self.run(context, input_pointers, output_pointers)
            if status != 0:
                raise RuntimeError(f"{self.name}_run returned {status}")
        infer()
        first = time.perf_counter()
        return Runner(infer, lambda _: outputs, {"create_ms": 1e3 * (created - start), "first_ms": 1e3 * (first - created)},
                      close=functools.partial(self.destroy, context))

    def destroy(self, context):
        """Ends the last context, and the library with it."""
        destroy = self.function("destroy")
        destroy.argtypes = [ctypes.c_void_p]
        destroy(context)
        _ctypes.dlclose(self.library._handle)


def make_tenon(job):
    return TenonLibrary(job).context(job.threads)


CONTESTANTS = {
    "tenon": make_tenon,
    "onnxruntime": make_onnxruntime,
    "openvino": make_openvino,
    "tvm": make_tvm,
    "pytorch": make_pytorch,
}

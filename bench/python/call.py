# SPDX-License-Identifier: Apache-2.0
"""call.py: what a call from Python costs above the same call from C, for a tiny model; ./dev bench python runs it.

Prints the least time of a call over many batches: in C, with arrays in and out, and into given arrays.
"""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

import tenon

# Functions come as pointers: a process may hold several libraries of the same name.
LOOP = r"""
#include <time.h>
typedef int (*run_fn)(void* ctx, const void* const* in, void* const* out);
double least_ns(run_fn run, void* ctx, int batches, int calls, const void* const* in, void* const* out) {
  double best = run(ctx, in, out) == 0 ? 1e30 : -1;
  for (int b = 0; b < batches; ++b) {
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int i = 0; i < calls; ++i) run(ctx, in, out);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    double ns = ((t1.tv_sec - t0.tv_sec) * 1e9 + (t1.tv_nsec - t0.tv_nsec)) / calls;
    best = ns < best ? ns : best;
  }
  return best;
}
"""
BATCHES, CALLS = 300, 200
MODEL = "/usr/share/libonnx-testdata/data/node/test_relu/model.onnx"


def least_ns_in_c(module, folder, inputs, outputs):
    source, loop = pathlib.Path(folder) / "loop.c", pathlib.Path(folder) / "loop.so"
    source.write_text(LOOP)
    subprocess.run(["clang-19", "-O2", "-shared", "-fPIC", source, "-o", loop], check=True)
    least = ctypes.CDLL(str(loop)).least_ns
    least.restype = ctypes.c_double
    library = ctypes.CDLL(f"{module.folder}/lib{module.name}.so")
    create, destroy = library[f"{module.name}_create"], library[f"{module.name}_destroy"]
    create.restype = ctypes.c_void_p
    context = ctypes.c_void_p(create(1, None))
    pointers = [(ctypes.c_void_p * len(a))(*[x.ctypes.data for x in a]) for a in (inputs, outputs)]
    best = least(library[f"{module.name}_run"], context, BATCHES, CALLS, *pointers)
    destroy(context)
    return best


def least_ns(call):
    best = float("inf")
    for _ in range(BATCHES):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter_ns() - start) / CALLS)
    return best


def measure(model=MODEL):
    """{"c": ns, "call": ns, "run_into": ns} of one call."""
    with tempfile.TemporaryDirectory() as folder:
        module = tenon.compile(model, out=pathlib.Path(folder) / "tiny", threads=1)
        inputs = [numpy.ones(t.shape, t.dtype) for t in module.inputs]
        outputs = list(module(*inputs)) if len(module.outputs) > 1 else [module(*inputs)]
        return {"c": least_ns_in_c(module, folder, inputs, outputs),
                "call": least_ns(lambda: module(*inputs)),
                "run_into": least_ns(lambda: module.run_into(outputs, *inputs))}


if __name__ == "__main__":
    for name, ns in measure(*sys.argv[1:]).items():
        print(f"{name:10} {ns / 1e3:6.3f} us")

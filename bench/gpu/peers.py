# SPDX-License-Identifier: Apache-2.0
"""PyTorch's ways to run a module on a GPU: each makes a function that runs it once and returns the output.

    PEERS["graph"](module, [input tensor], stream) -> call
"""
import copy

import torch

WARMUP = 3


def set_precision():
    """float32 as it is defined, without tf32; the fastest of cuDNN's algorithms is looked for."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True


def eager(module, inputs, stream):
    return lambda: module(*inputs)


def graph(module, inputs, stream):
    for _ in range(WARMUP):
        module(*inputs)
    stream.synchronize()
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded, stream=stream):
        output = module(*inputs)

    def call():
        recorded.replay()
        return output
    call.reads = module, inputs  # a graph knows addresses only: what is there must live as long as it does
    return call


def graph_nhwc(module, inputs, stream):
    if not any(tensor.dim() == 4 for tensor in inputs):
        raise NotImplementedError("no input has four dimensions")
    form = {"memory_format": torch.channels_last}
    module = copy.deepcopy(module).to(**form)
    return graph(module, [x.to(**form) if x.dim() == 4 else x for x in inputs], stream)


def compiled(module, inputs, stream):
    torch._dynamo.reset()
    call = torch.compile(module, mode="reduce-overhead")
    for _ in range(WARMUP + 1):  # compiles, warms up, records, replays
        call(*inputs)
    return lambda: call(*inputs)


PEERS = {"eager": eager, "graph": graph, "graph_nhwc": graph_nhwc, "compile": compiled}

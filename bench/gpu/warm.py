# SPDX-License-Identifier: Apache-2.0
"""warm.py MODELS case ...: lets torch.compile fill its cache on disk; bench.py runs several at once, before it measures.

What torch.compile makes of a network takes it half a minute; from its cache it takes seconds. What fails here fails
again, and is said, where it is measured.
"""
import pathlib
import sys

import numpy as np
import torch

import modules
import peers


def warm(name, models, stream):
    model = models / f"{name}.onnx"
    with np.load(model.with_suffix(".npz")) as file:
        inputs = [torch.from_numpy(file[key]).cuda() for key in file.files if key not in ("output", "out64")]
    _, timed = modules.restore(name, model)
    peers.PEERS["compile"](timed.cuda(), inputs, stream)()
    torch.cuda.synchronize()


def main():
    peers.set_precision()
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        for name in sys.argv[2:]:
            try:
                warm(name, pathlib.Path(sys.argv[1]), stream)
                print(f"{name}: ready", flush=True)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()

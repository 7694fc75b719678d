# SPDX-License-Identifier: Apache-2.0
"""modules.py --out DIR [--cases a,b] [--force]: writes the cases as ONNX files.

As bench/models/export.py does for networks: NAME.onnx, NAME.npz (inputs by name, PyTorch's `output`, and `out64`, the
same in float64), NAME.pt (the weights). Operators are chains of themselves, see cases.py.
"""
import argparse
import copy
import math
import pathlib
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

import cases  # noqa: E402

SEED = 20240229


class Product(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(k, n) / math.sqrt(k))

    def forward(self, x):
        return x @ self.weight


def convolutions(case, bare):
    """With bias and relu; BARE without them, as cuDNN is timed. Both have the same weights."""
    channels, _ = case.shape
    layers = []
    for _ in range(case.repeat):
        layer = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.normal_(layer.weight, std=math.sqrt(2 / (9 * channels)))
        nn.init.normal_(layer.bias, std=0.1)
        if bare:
            # Nothing is cut off below zero here, so that weights must be smaller for values to keep their size.
            layer.weight.data.mul_(math.sqrt(0.5))
            layer.bias = None
        layers += [layer] if bare else [layer, nn.ReLU()]
    return nn.Sequential(*layers)


def products(case):
    _, k, n = case.shape
    turn = [(k, n), (n, k)] if case.kind == "pair" else [(k, n)]
    return nn.Sequential(*[Product(*sizes) for _ in range(case.repeat) for sizes in turn])


def rows(case):
    _, length = case.shape
    layers = [nn.LayerNorm(length) if case.kind == "norm" else nn.Softmax(-1) for _ in range(case.repeat)]
    for layer in layers:
        for parameter in layer.parameters():
            nn.init.normal_(parameter)
    return nn.Sequential(*layers)


def operator(case, bare=False):
    torch.manual_seed(SEED)
    if case.kind == "conv":
        module = convolutions(case, bare)
    else:
        module = rows(case) if case.kind in ("norm", "softmax") else products(case)
    return module.eval()


def operator_input(case):
    torch.manual_seed(SEED + 1)
    if case.kind == "conv":
        channels, extent = case.shape
        return torch.randn(1, channels, extent, extent)
    return torch.randn(case.shape[0], case.shape[1])


def make(name):
    """What is exported: a networks.Network, that is module and inputs."""
    import networks
    case = cases.CASES[name]
    if case.kind == "network":
        return networks.make(name)
    return networks.Network(operator(case), {"input": operator_input(case)})


def restore(name, model):
    """(module with the weights saved beside MODEL, the module that peers are timed with)"""
    case = cases.CASES[name]
    if case.kind == "network":
        import networks
        whole = networks.restore(name, model)[""]
        return whole, networks.attend_in_one_call(copy.deepcopy(whole)) if name.startswith("bert") else whole
    whole = operator(case)
    whole.load_state_dict(torch.load(model.with_suffix(".pt")))
    return whole, operator(case, bare=True) if case.kind == "conv" else whole


def weight_bytes(module):
    """What a run reads of the weights: of tables that are looked up in, nearly nothing."""
    tables = {id(p) for m in module.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    return sum(p.numel() * p.element_size() for p in module.parameters() if id(p) not in tables)


def main():
    import export
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--cases", default="all")
    parser.add_argument("--force", action="store_true", help="write what exists once more")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in cases.choose(arguments.cases):
        # The weights are written last, so they stand for all three files.
        if (arguments.out / f"{name}.pt").exists() and not arguments.force:
            continue
        try:
            export.export(name, arguments.out, 13, make)
        except Exception:
            traceback.print_exc()
            print(f"{name}: could not be exported", file=sys.stderr, flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

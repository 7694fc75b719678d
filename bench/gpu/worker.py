# SPDX-License-Identifier: Apache-2.0
"""worker.py JOB.json: times cases on the card of this process; bench.py starts it, and again if it dies.

Prints one JSON object per line: {"ceilings": ..}, {"case": .., "stage": ..} before each thing that may take long or
fail, {"case": .., "result": ..}. A case's contestants take turns; the order rotates.
"""
import gc
import json
import os
import pathlib
import statistics
import sys
import traceback

import numpy as np
import torch

import artifact
import cases
import ceilings
import modules
import peers

AHEAD = 3      # runs before the clock starts, so that the card never waits for the host
MOST = 5000    # runs in a turn


def tell(**what):
    print(json.dumps(what), flush=True)


def difference(output, expected):
    """The largest, relative to the largest value; infinite where there is no number."""
    output, expected = (np.asarray(x, dtype=np.float64) for x in (output, expected))
    if output.shape != expected.shape:
        return float("inf")
    largest = np.abs(output - expected).max() / np.abs(expected).max()
    return float(largest) if np.isfinite(largest) else float("inf")


def one_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def end_if_lost():
    """Where a contestant lost the card, nobody can use it in this process any more: who started it leaves that one out
    and starts another."""
    try:
        torch.cuda.synchronize()
    except Exception as error:
        print(one_line(error), file=sys.stderr, flush=True)
        os._exit(3)


class Contestant:
    def __init__(self, label, call, stream):
        self.label, self.call, self.stream, self.rounds = label, call, stream, []
        self.runs = 1

    def turn(self, runs):
        """Milliseconds of a run, of RUNS in a row."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(AHEAD):
            self.call()
        start.record(self.stream)
        for _ in range(runs):
            self.call()
        end.record(self.stream)
        end.synchronize()
        return start.elapsed_time(end) / runs

    def calibrate(self, turn_ms):
        self.turn(3)
        self.runs = int(min(MOST, max(3, turn_ms / max(self.turn(5), 1e-3))))

    def timing(self, repeat):
        """Microseconds, of one of the REPEAT operators in a chain."""
        times = sorted(1e3 * t / repeat for t in self.rounds)
        low, high = (times[int(share * (len(times) - 1))] for share in (0.1, 0.9))
        median = statistics.median(times)
        return {"best_us": times[0], "median_us": median, "spread": (high - low) / median,
                "rounds_us": [1e3 * t / repeat for t in self.rounds], "runs": self.runs}


def contest(case, contestants, rounds, turn_ms):
    for contestant in contestants:
        tell(case=case, stage=contestant.label)
        contestant.calibrate(turn_ms)
    tell(case=case, stage="rounds")
    for index in range(rounds):
        shift = index % len(contestants)
        for contestant in contestants[shift:] + contestants[:shift]:
            contestant.rounds.append(contestant.turn(contestant.runs))


def count_flops(module, inputs):
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter:
        module(*inputs)
    return counter.get_total_flops()


class Trial:
    """One case: its model, who takes part, and what was found."""

    def __init__(self, job, wanted, stream):
        self.job, self.stream, self.name = job, stream, wanted["case"]
        self.artifacts, self.skip = wanted["artifacts"], wanted["skip"]
        self.result = {"differences": {}, "absent": {}, "timings": {}}
        self.contestants, self.open = [], []
        self.model = pathlib.Path(job["models"]) / f"{self.name}.onnx"

    def load(self):
        with np.load(self.model.with_suffix(".npz")) as file:
            arrays = dict(file)
        self.expected = arrays.pop("out64")
        arrays.pop("output")
        self.inputs = {name: torch.from_numpy(array).cuda() for name, array in arrays.items()}
        whole, timed = modules.restore(self.name, self.model)
        whole, self.timed = whole.cuda(), timed.cuda()
        values = list(self.inputs.values())
        self.result["flops"] = count_flops(whole, values)
        self.result["weight_bytes"] = modules.weight_bytes(whole)
        self.result["differences"]["torch"] = difference(whole(*values).cpu(), self.expected)
        self.peer_expected = self.timed(*values).cpu()

    def add(self, label, make):
        """MAKE gives a function that runs once, and what its output is to be compared with by a function."""
        if label in self.skip:
            self.result["absent"][label] = self.skip[label]
            return
        tell(case=self.name, stage=label)
        try:
            call, check = make()
            call()
            self.stream.synchronize()
            self.result["differences"][label] = check()
            self.contestants.append(Contestant(label, call, self.stream))
        except NotImplementedError as error:
            self.result["absent"][label] = str(error)
        except Exception as error:
            self.result["absent"][label] = one_line(error)
            end_if_lost()

    def tenon(self, folder):
        model = artifact.Artifact(pathlib.Path(folder), self.name, self.inputs, self.stream)
        self.open.append(model)
        return model.call, lambda: difference(model.outputs[0].cpu(), self.expected)

    def peer(self, make):
        call = make(self.timed, list(self.inputs.values()), self.stream)
        return call, lambda: difference(call().cpu(), self.peer_expected)

    def run(self):
        tell(case=self.name, stage="load")
        self.load()
        for label in self.job["peers"]:
            self.add(label, lambda: self.peer(peers.PEERS[label]))
        for label, folder in self.artifacts.items():
            self.add(label, lambda: self.tenon(folder))
        if self.contestants:
            contest(self.name, self.contestants, self.job["rounds"], self.job["turn_ms"])
        repeat = cases.CASES[self.name].repeat
        self.result["flops"] /= repeat
        self.result["weight_bytes"] /= repeat
        self.result["timings"] = {c.label: c.timing(repeat) for c in self.contestants}
        for model in self.open:
            model.close()
        return self.result


def card():
    properties = torch.cuda.get_device_properties(0)
    return {"card": properties.name, "multiprocessors": properties.multi_processor_count,
            "memory_mb": properties.total_memory >> 20, "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version()}


def main():
    job = json.loads(pathlib.Path(sys.argv[1]).read_text())
    peers.set_precision()
    stream = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(stream):
        if job["ceilings"]:
            tell(machine=card())
            tell(ceilings=ceilings.measure(stream))
        for wanted in job["cases"]:
            trial = Trial(job, wanted, stream)
            try:
                tell(case=wanted["case"], result=trial.run())
            except Exception as error:
                traceback.print_exc()
                tell(case=wanted["case"], error=one_line(error))
                end_if_lost()
            del trial
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()

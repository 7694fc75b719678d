# SPDX-License-Identifier: Apache-2.0
"""worker.py CONTESTANT MODEL.onnx ARTIFACT DEFINITIONS.py THREADS: one contestant in a process of its own, with one model
at a time.

Reads one JSON object per line from stdin and answers each with one line on stdout:
  (start)                               {"load_s": .., "difference": .., "difference64": .., "detail": {..}} or
                                        {"error": ".."}; differences are from the `output` and `out64` in MODEL.npz
                                        (float32 and float64; the second may be missing), relative to the largest
                                        output, null if not finite
  {"seconds": S, "warmup": W}           {"times": [seconds per inference]}, W more are run before, S is reached
                                        or passed by at least one; of several streams one number, seconds by inferences
  {"model": FILE, "artifact": FOLDER}   takes this one instead, and answers as at the start
Whatever the libraries print goes to stderr. The process is bound to its first THREADS processors.
"""
import functools
import json
import math
import os
import pathlib
import sys
import time


def take_stdout():
    """The answers' own stream; file descriptor 1 then leads to stderr."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def bind(threads):
    """Before any library is loaded: they size their pools by these."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)


def load(contestant, model, artifact, definitions, threads):
    import numpy as np
    import contestants
    import streams
    sys.path.insert(0, str(definitions.parent))
    recorded = np.load(model.with_suffix(".npz"))
    inputs = {key: recorded[key] for key in recorded.files if key not in ("output", "out64")}
    job = contestants.Job(model.stem, model, artifact, definitions.stem, threads, inputs, [recorded["output"]])
    start = time.perf_counter()
    runner = streams.make(contestant, job) if ":" in contestant else contestants.CONTESTANTS[contestant](job)
    load_s = time.perf_counter() - start
    got, want = np.array(runner.outputs(runner.run())[0]), job.outputs[0]
    if got.shape != want.shape:
        raise RuntimeError(f"output is {got.shape}, not {want.shape}")
    exact = recorded["out64"] if "out64" in recorded.files else want
    return runner, {"load_s": load_s, "difference": relative_difference(got, want),
                    "difference64": relative_difference(got, exact), "detail": runner.detail}


def relative_difference(got, want):
    difference = float(abs(got - want).max() / abs(want).max())
    return difference if math.isfinite(difference) else None


def measure(run, seconds, warmup):
    clock, times = time.perf_counter, []
    for _ in range(warmup):
        run()
    begin = clock()
    while not times or clock() - begin < seconds:
        start = clock()
        run()
        times.append(clock() - start)
    return times


def try_load(contestant, model, artifact, definitions, threads):
    """(runner, answer); no runner if it failed."""
    try:
        return load(contestant, *map(pathlib.Path, (model, artifact, definitions)), threads)
    except Exception as error:  # any library may fail in its own way; the harness prints why
        return None, {"error": f"{type(error).__name__}: {error}".split("\n")[0]}


def main():
    answers = take_stdout()
    contestant, model, artifact, definitions, threads = sys.argv[1:6]
    bind(int(threads))
    runner, answer = try_load(contestant, model, artifact, definitions, int(threads))
    print(json.dumps(answer), file=answers)
    for line in sys.stdin:
        command = json.loads(line)
        if "model" in command:
            if runner is not None:
                runner.close()
            runner, answer = try_load(contestant, command["model"], command["artifact"], definitions, int(threads))
        else:
            timed = runner.measure or functools.partial(measure, runner.run)
            answer = {"times": timed(command["seconds"], command["warmup"])}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()

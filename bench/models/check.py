# SPDX-License-Identifier: Apache-2.0
"""check.py [--models a,b] [--threads 1,2] [--tenon PATH]: compiles the exported networks and compares with PyTorch.

One line per model and thread count: the largest difference relative to the largest output, the tolerance, and the
difference from PyTorch's run in float64. Exits 4 if an output is wrong, 1 if a model does not
compile or run. Needs numpy.
"""
import argparse
import pathlib
import sys

import accuracy
import bench  # knows where the contest's modules are
import harness
import tuning


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join(accuracy.TOLERANCES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tenon", type=pathlib.Path, default=harness.ROOT / "build/release/tools/tenon/tenon")
    parser.add_argument("--compile-option", action="append", default=[], metavar="OPTION",
                        help="passed on to `tenon compile`; may be repeated")
    return parser.parse_args()


def check(compiled, model, threads):
    """(line, exit code)"""
    place = f"{model.stem:20} {threads} thread(s)"
    if compiled.error:
        return f"{place}  FAILED: {compiled.error}", 1
    worker = harness.Worker(harness.tenon_entry("tenon", compiled.folder),
                            harness.Problem(model, bench.DEFINITIONS, threads))
    worker.close()
    if worker.failed():
        return f"{place}  FAILED: {worker.start['error']}", 1
    difference, exact = worker.start["difference"], worker.start["difference64"]
    right = accuracy.is_right(model.stem, difference)
    return (f"{place}  {'right' if right else 'WRONG'}  {accuracy.show(difference)} (allowed"
            f" {accuracy.tolerance(model.stem):.0e}), from float64 {accuracy.show(exact)}"), 0 if right else 4


def main():
    arguments = parse_arguments()
    code, passed, count = 0, 0, 0
    for model in [bench.find_model(name) for name in arguments.models.split(",")]:
        compiled = tuning.compile_model(arguments.tenon, model, bench.MODELS / "tenon" / model.stem,
                                        arguments.compile_option)
        for threads in map(int, arguments.threads.split(",")):
            line, status = check(compiled, model, threads)
            print(line, flush=True)
            code, passed, count = max(code, status), passed + (status == 0), count + 1
    print(f"{passed} of {count} right")
    return code


if __name__ == "__main__":
    sys.exit(main())

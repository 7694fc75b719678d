#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tenon must do on an NVIDIA card: `./dev test --gpu`.

Parts: suite (ONNX's backend suite, as far as the host passes it), random (500 random programs beside the interpreter),
sanitizer (compute-sanitizer's memcheck and racecheck), repeat (10,000 runs give the same bits), contexts (1,000 leave
nothing behind), sentences (what goes wrong is said), ptx (cards that do not take the machine code run the PTX), networks
(those of the benchmark are right). Needs Python, a driver, and a folder of tools/portable.py --gpu or a build tree.
Writes gpu_test.json, gpu_test.txt and logs. Exits 1 if something is wrong, 2 if it is called wrongly, 5 if a part
could not be run, 6 if there is no card.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import machine as machines
import parts

FACTS = "import json, library; print(json.dumps(library.Driver().facts()))"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev test --gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", type=pathlib.Path, default=machines.ROOT / "build/release", metavar="FOLDER",
                        help="portable folder or build tree (default: %(default)s)")
    parser.add_argument("--parts", help=f"some of {','.join(parts.PARTS)} (default: all that the target can run)")
    parser.add_argument("--target", default="cuda", help="default: %(default)s, the card at hand")
    parser.add_argument("--driver", default="", help="instead of libcuda.so.1: libtenon_simt.so")
    parser.add_argument("--out", type=pathlib.Path, default=machines.ROOT / "build/gpu_test", metavar="DIR",
                        help="what is written goes there (default: %(default)s)")
    parser.add_argument("--data", type=pathlib.Path, help="folder of ONNX's backend test suite, with node and others")
    parser.add_argument("--sanitizer", type=pathlib.Path, help="compute-sanitizer (default: it is looked for)")
    parser.add_argument("--deadline", type=float, default=1e6, metavar="SECONDS", help="of all parts together")
    parser.add_argument("--limit", action="append", default=[], metavar="PART=SECONDS",
                        help="of one part; defaults: " + ", ".join(f"{n} {s}" for n, (_, s) in parts.PARTS.items()))
    parser.add_argument("--small", action="store_true", help="few of everything, for a card that is pretended")
    arguments = parser.parse_args()
    arguments.parts = arguments.parts.split(",") if arguments.parts else [
        name for name in parts.PARTS if arguments.target != "cuda simt" or name not in parts.ON_CARDS]
    for name in [*arguments.parts, *[limit.split("=")[0] for limit in arguments.limit]]:
        if name not in parts.PARTS:
            parser.error(f"there is no part {name}; there are {', '.join(parts.PARTS)}")
    arguments.limits = {**{name: limit for name, (_, limit) in parts.PARTS.items()},
                        **{name: float(s) for name, s in (limit.split("=") for limit in arguments.limit)}}
    return arguments


def look(machine):
    """What is known of card and driver."""
    done = subprocess.run([sys.executable, "-c", FACTS], capture_output=True, text=True, cwd=machines.HERE,
                          env=machine.environment(), timeout=120)
    if done.returncode != 0:
        print(f"gpu test: there is no card: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        sys.exit(6)
    return json.loads(done.stdout)


def run_part(machine, name, limit_s, end):
    """{"part", "status": right | wrong | absent, "seconds", "problems", and what it told}"""
    start = time.monotonic()
    machine.end = min(start + limit_s, end)
    try:
        if start >= end:
            raise machines.Absent("there was no time left")
        problems, facts = parts.PARTS[name][0](machine)
        status = "wrong" if problems else "right"
    except machines.Absent as error:
        status, problems, facts = "absent", [str(error)], {}
    except machines.Failure as error:
        status, problems, facts = "wrong", [str(error)], {}
    except Exception as error:  # a fault of the check itself must not end the others
        status, problems, facts = "wrong", [f"{type(error).__name__}: {error}"], {}
    return {"part": name, "status": status, "seconds": round(time.monotonic() - start, 1), "problems": problems, **facts}


def told(result):
    """What a part told, in one line."""
    facts = {key: value for key, value in result.items()
             if key not in ("part", "status", "seconds", "problems", "sentences")}
    return ", ".join(f"{key} {json.dumps(value) if isinstance(value, (dict, list)) else value}"
                     for key, value in facts.items())


def lines_of(result):
    head = f"{result['part']:10} {result['status']:7} {result['seconds']:6.1f} s  {told(result)}"
    more = [f"    {problem[:300]}" for problem in result["problems"][:10]]
    if len(result["problems"]) > 10:
        more.append(f"    and {len(result['problems']) - 10} more")
    return "\n".join([head[:400], *more])


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    machine = machines.Machine(arguments.tenon.resolve(), arguments.out.resolve(), arguments.target, arguments.small,
                               arguments.data, arguments.sanitizer, driver=arguments.driver)
    machine.clear()
    report = {"schema": "tenon.gpu_test/1", "target": arguments.target, "small": arguments.small, "cores": os.cpu_count(),
              **look(machine), "tenon": machine.must([machine.tenon, "version"]).splitlines()[0], "parts": []}
    print(f"{report['card']}, driver {report['driver']}, {report['tenon']}", flush=True)
    end, text = time.monotonic() + arguments.deadline, ""
    for name in arguments.parts:
        result = run_part(machine, name, arguments.limits[name], end)
        report["parts"].append(result)
        print(lines_of(result), flush=True)
        text += lines_of(result) + "\n"
        (machine.out / "gpu_test.json").write_text(json.dumps(report, indent=1) + "\n")
        (machine.out / "gpu_test.txt").write_text(text)
    statuses = [result["status"] for result in report["parts"]]
    print(f"{statuses.count('right')} parts right, {statuses.count('wrong')} wrong, {statuses.count('absent')} not run")
    return 1 if "wrong" in statuses else 5 if "absent" in statuses else 0


if __name__ == "__main__":
    sys.exit(main())

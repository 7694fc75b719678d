#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_portable.py FOLDER: does the folder of ./dev portable run where nothing but a C library is?

Reads what its files ask the loader for, then calls tenon in a root directory that holds the folder,
the C library and nothing else. Prints one line per check and exits 1 if one fails.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MAX_BYTES = 25e6
NEWEST_GLIBC = (2, 36)
MAY_NEED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
# glibc brings these on every machine; since 2.34 libpthread is empty.
C_LIBRARY = ("libc.so.6", "libm.so.6", "libpthread.so.0")
LOADER = "/lib64/ld-linux-x86-64.so.2"
LIBRARIES = pathlib.Path("/lib/x86_64-linux-gnu")


def output(*command):
    command = [str(c) for c in command]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(file):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", file)))


def glibc_versions(file):
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", output("objdump", "-T", file))
    return {(int(a), int(b)) for a, b in found}


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, good, what, why=""):
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {what}" + (f": {why}" if not good and why else ""))


def check_files(checks, folder):
    programs = [folder / "bin" / name for name in ("tenon", "tenon-run")]
    libraries = sorted((folder / "lib" / "tenon").iterdir())
    beside = {file.name for file in libraries} | set(C_LIBRARY)
    for file in programs:
        extra = needed(file) - MAY_NEED
        checks.expect(not extra, f"{file.name} needs libc and libm only", f"it needs {extra}")
        dynamic = output("readelf", "--dynamic", "--wide", file)
        checks.expect("PATH)" not in dynamic, f"{file.name} names no folder of another machine")
    for file in libraries:
        extra = needed(file) - beside - MAY_NEED
        checks.expect(not extra, f"all that {file.name} needs lies beside it", f"it needs {extra}")
    for file in programs + libraries:
        newest = max(glibc_versions(file))
        good = newest <= NEWEST_GLIBC
        checks.expect(good, f"{file.name} runs with glibc 2.36", f"it asks for {newest}")
    archive = folder.with_name(folder.name + ".tar.xz")
    size, most = archive.stat().st_size, MAX_BYTES / 1e6
    with_tests = (folder / "gpu").exists()  # for a machine with a card, not for users
    checks.expect(size <= MAX_BYTES or with_tests, f"{archive.name} has {size / 1e6:.1f} of {most:.0f} MB")


@contextlib.contextmanager
def empty_root(folder):
    """A root directory with the folder as /tenon, the C library, and a home."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for part in ("proc", "sys", "dev", "tmp", "home", "lib64", str(LIBRARIES)[1:]):
            (root / part).mkdir(parents=True)
        shutil.copy(LOADER, root / LOADER[1:])
        for library in C_LIBRARY:
            shutil.copy(LIBRARIES / library, root / str(LIBRARIES)[1:])
        shutil.copytree(folder, root / "tenon", symlinks=True)
        yield root


MOUNT = """for d in proc sys dev; do mount --rbind /$d "$0/$d" || exit 99; done
exec chroot "$0" "$@" """


def run_inside(root, args):
    """tenon with `args`, in `root`; no library path, and no variables but these."""
    alone = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    env = {"HOME": "/home", "LD_LIBRARY_PATH": "", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    command = alone + ["sh", "-c", MOUNT, str(root), "/tenon/bin/tenon"] + args
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300,
                          check=False)


def check_runs(checks, root):
    def run(*args, code=0, says=""):
        r = run_inside(root, list(args))
        good = r.returncode == code and says in r.stdout + r.stderr
        checks.expect(good, "tenon " + " ".join(args), f"exit {r.returncode}\n{r.stdout}{r.stderr}")
        return r.stdout

    run("version", says="LLVM")
    run("zoo", "write", "dqn", "-o", "/home/dqn.onnx")
    run("compile", "/home/dqn.onnx", "-o", "/home/dqn")
    run("compile", "/home/dqn.onnx", "-o", "/home/arm", "--target", "aarch64")
    run("compare", "/home/dqn.onnx", "/home/dqn", "--reference", "plain")
    run("bench", "/home/dqn", "--duration", "0.2")
    tuned = run("tune", "/home/dqn.onnx", "--budget", "5s", "-o", "/home/tuned", "--json")
    measured = json.loads(tuned or "{}").get("measured", 0)
    checks.expect(measured > 0, f"tenon tune has measured {measured} candidates")
    events = run("tune", "/home/dqn.onnx", "--sim", "--trials", "96", "-o", "/home/sim", "--jsonl")
    checks.expect('"ranking":{' in events, "XGBoost has learnt")
    run("db", "export", "/home/records.jsonl")
    run("db", "import", "/home/records.jsonl", "--db", "/home/other.db", says="tasks")
    shutil.rmtree(root / "tenon" / "lib")
    again = ("tune", "/home/dqn.onnx", "--trials", "4", "-o", "/home/again", "--db", "/home/a.db")
    run(*again, code=2, says="the cost model xgb needs XGBoost")
    run(*again, "--cost-model", "random")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    checks = Checks()
    check_files(checks, folder)
    with empty_root(folder) as root:
        check_runs(checks, root)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())

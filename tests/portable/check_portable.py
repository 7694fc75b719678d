#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_portable.py FOLDER: does the folder of ./dev portable run where nothing but a C library is?

Reads what its files ask the loader for. Then a user who is not root calls tenon in a root directory that holds what the
archive beside the folder unpacks to, the C library and nothing else. Prints one line per check and exits 1 if one fails.
"""
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "install"))
from checks import Checks, fill_root, names_folders, needed, output, run_inside  # noqa: E402

MAX_BYTES = 25e6
NEWEST_GLIBC = (2, 36)
MAY_NEED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
# glibc brings these on every machine; since 2.34 libpthread is empty.
C_LIBRARY = ("libc.so.6", "libm.so.6", "libpthread.so.0")
LIBRARIES = pathlib.Path("/lib/x86_64-linux-gnu")


def glibc_versions(file):
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", output("objdump", "-T", file))
    return {(int(a), int(b)) for a, b in found}


def check_files(checks, folder):
    programs = [folder / "bin" / name for name in ("tenon", "tenon-run")]
    libraries = sorted((folder / "lib" / "tenon").iterdir())
    beside = {file.name for file in libraries} | set(C_LIBRARY)
    for file in programs:
        extra = needed(file) - MAY_NEED
        checks.expect(not extra, f"{file.name} needs libc and libm only", f"it needs {extra}")
        checks.expect(not names_folders(file), f"{file.name} names no folder of another machine")
    for file in libraries:
        extra = needed(file) - beside - MAY_NEED
        checks.expect(not extra, f"all that {file.name} needs lies beside it", f"it needs {extra}")
    for file in programs + libraries:
        newest = max(glibc_versions(file))
        good = newest <= NEWEST_GLIBC
        checks.expect(good, f"{file.name} runs with glibc 2.36", f"it asks for {newest}")
    archive = archive_of(folder)
    size, most = archive.stat().st_size, MAX_BYTES / 1e6
    with_tests = (folder / "gpu").exists()  # for a machine with a card, not for users
    checks.expect(size <= MAX_BYTES or with_tests, f"{archive.name} has {size / 1e6:.1f} of {most:.0f} MB")


def archive_of(folder):
    return folder.with_name(folder.name + ".tar.xz")


@contextlib.contextmanager
def empty_root(archive):
    """A root directory with what the archive holds as /tenon, the C library, and a home."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        fill_root(root, [LIBRARIES / library for library in C_LIBRARY])
        (root / "tenon").mkdir()
        subprocess.run(["tar", "-xf", archive, "--no-same-owner", "--strip-components=1", "-C", root / "tenon"],
                       check=True)
        yield root


def check_runs(checks, root):
    def run(*args, code=0, says=""):
        r = run_inside(root, ["/tenon/bin/tenon", *args])
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
    with empty_root(archive_of(folder)) as root:
        check_runs(checks, root)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())

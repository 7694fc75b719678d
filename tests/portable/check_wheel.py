#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_wheel.py WHEEL [--here]: does the wheel of ./dev wheel work in a fresh environment with NumPy alone?

A user who is not root makes a virtual environment, installs the wheel with pip, and runs the package's tutorial and its
command there. With --here it may need libraries of this machine, as one of a debug build does. Prints one line per check and
exits 1 if one fails.
"""
import pathlib
import re
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "install"))
from checks import Checks, User, elf_files, names_folders, needed  # noqa: E402

MAX_BYTES = 60e6
MAX_EXTENSION_BYTES = 4e6
MAY_NEED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
DEBIANS_NUMPY = "/usr/lib/python3/dist-packages/numpy"


def check_file(checks, file):
    size = file.stat().st_size
    checks.expect(size <= MAX_BYTES, f"{file.name} has {size / 1e6:.1f} of {MAX_BYTES / 1e6:.0f} MB")
    names = zipfile.ZipFile(file).namelist()
    for part in ("tenon/py.typed", "tenon/_native.pyi", "tenon/bin/tenon", "tenon/bin/tenon-run",
                 "tenon/lib/tenon/libxgboost.so.0"):
        checks.expect(part in names, f"it holds {part}")
    checks.expect(any(name.endswith("licenses/all.txt") for name in names), "it holds the licences")


def check_programs(checks, package):
    (extension,) = package.glob("_native*.so")
    size = extension.stat().st_size
    checks.expect(size <= MAX_EXTENSION_BYTES, f"the extension has {size / 1e6:.1f} MB")
    for file in (extension, package / "bin" / "tenon", package / "bin" / "tenon-run"):
        extra = needed(file) - MAY_NEED
        checks.expect(not extra, f"{file.name} needs libc and libm only", f"it needs {extra}")
    told = [file.name for file in elf_files(package) if names_folders(file)]
    checks.expect(not told, "nothing names folders of the machine that built it", f"{told} do")


def tutorial():
    text = (ROOT / "docs" / "python.md").read_text()
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def check_use(checks, user, wheel, anywhere):
    env = user.home / "env"
    user.check(checks, "makes an environment", "/usr/bin/python3", "-m", "venv", env)
    (site,) = (env / "lib").glob("python3*/site-packages")
    # NumPy of the system, so that the check needs no network.
    user.check(checks, "puts NumPy into it", "ln", "-s", DEBIANS_NUMPY, site)
    user.check(checks, "pip install", env / "bin/pip", "install", "-q", "--no-index", "--no-deps", wheel)
    if anywhere:
        check_programs(checks, site / "tenon")
    user.check(checks, "docs/python.md runs, tuning with it", env / "bin/python", "-c", tutorial())
    user.check(checks, "the command tenon", env / "bin/tenon", "-V", says="tenon 0.")
    user.check(checks, "tenon tune learns with XGBoost", env / "bin/tenon", "tune", "dqn.onnx", "--sim", "--trials",
               "96", "--history", "off", "--db", "sim.db", "-o", "sim", "--jsonl", says='"ranking":{')
    user.check(checks, "pip uninstall", env / "bin/pip", "uninstall", "-q", "-y", "tenon")
    checks.expect(not (site / "tenon").exists(), "nothing is left of it")


def main():
    wheel = pathlib.Path(sys.argv[1]).resolve()
    checks = Checks()
    check_file(checks, wheel)
    with tempfile.TemporaryDirectory() as folder:
        user = User(folder)
        check_use(checks, user, wheel, anywhere="--here" not in sys.argv)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())

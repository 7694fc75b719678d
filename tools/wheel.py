#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheel.py BUILD: makes a wheel of the Python package, from a portable build. One of another build works on this
machine only.

    tenon/             the package, with its extension
    tenon/bin, lib, share   the folder that travels: the program, the tuner's tools, XGBoost, tables
    tenon-0.1.0.dist-info/  what pip wants to know, and the licences
"""
import base64
import hashlib
import pathlib
import platform
import subprocess
import sys
import tempfile
import zipfile

from portable import output, pack

GLIBC = "2_36"
# Wheels hold no links: the other names of the program are scripts that say them.
SCRIPT = '#!/bin/sh\nexec "${{0%/*}}/tenon" {name} "$@"\n'
METADATA = """Metadata-Version: 2.1
Name: tenon
Version: {version}
Summary: Compiles trained models to small, fast libraries, tunes them, and calls them
License: Apache-2.0
Requires-Python: =={python}.*
Requires-Dist: numpy
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: tenon
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = "[console_scripts]\ntenon = tenon._program:main\n"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files give the same bytes


class Wheel:
    def __init__(self, file):
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, executable=False):
        info = zipfile.ZipInfo(name, EPOCH)
        info.external_attr = (0o100755 if executable else 0o100644) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info):
        self.record.append(f"{info}/RECORD,,")
        self.add(f"{info}/RECORD", ("\n".join(self.record) + "\n").encode())
        self.zip.close()


def stripped(file):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["strip", "-o", f"{folder}/out", file], check=True)
        return pathlib.Path(folder, "out").read_bytes()


def add_package(wheel, build, root):
    for file in sorted((root / "python" / "tenon").iterdir()):
        if file.suffix in (".py", ".pyi", ".typed"):
            wheel.add(f"tenon/{file.name}", file.read_bytes())
    (extension,) = (build / "python" / "tenon").glob("_native.*.so")
    wheel.add(f"tenon/{extension.name}", stripped(extension), executable=True)


def add_program(wheel, folder):
    for part in ("bin", "lib", "share"):
        for file in sorted((folder / part).rglob("*")):
            name = "tenon/" + file.relative_to(folder).as_posix()
            if file.is_symlink():
                wheel.add(name, SCRIPT.format(name=file.name).encode(), executable=True)
            elif file.is_file():
                wheel.add(name, file.read_bytes(), executable=part == "bin")


def add_information(wheel, info, version, python, tag, folder, root):
    wheel.add(f"{info}/METADATA", METADATA.format(
        version=version, python=python, readme=(root / "docs" / "python.md").read_text()).encode())
    wheel.add(f"{info}/WHEEL", WHEEL.format(tag=tag).encode())
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS.encode())
    for file in sorted((folder / "licences").iterdir()):
        wheel.add(f"{info}/licenses/{file.name}", file.read_bytes())


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parents[1]
    machine = platform.machine()
    version = output(str(build / "tools" / "tenon" / "tenon"), "-V").split()[1]
    (extension,) = (build / "python" / "tenon").glob("_native.*.so")
    python = extension.name.split("-")[1]  # _native.cpython-311-x86_64-linux-gnu.so
    tag = f"cp{python}-cp{python}-manylinux_{GLIBC}_{machine}"
    folder = pack(build, root)
    file = build / f"tenon-{version}-{tag}.whl"
    wheel, info = Wheel(file), f"tenon-{version}.dist-info"
    add_package(wheel, build, root)
    add_program(wheel, folder)
    add_information(wheel, info, version, f"{python[0]}.{python[1:]}", tag, folder, root)
    wheel.close(info)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""portable.py BUILD [--quality] [--gpu]: makes the folder that travels, and its archive, from a portable build.

    BUILD/tenon-0.1.0-x86_64/
      bin/       tenon, tenon-build and tenon-compare (the same program), tenon-run;
                 with --quality also quality_bench, for measuring elsewhere
      lib/tenon/ XGBoost and what it needs beyond the C library
      share/     tables of good programs, for tenon tune
      gpu/       with --gpu: what ./dev test --gpu needs on a machine with a card, with ONNX's backend test suite
      licences/  the notices of all of it
"""
import pathlib
import platform
import shutil
import subprocess
import sys

# What the C library consists of is on every machine.
OF_THE_SYSTEM = ("libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux")
SUITE = pathlib.Path("/usr/share/libonnx-testdata/data")
COMMON_LICENCES = pathlib.Path("/usr/share/common-licenses")
README = """tenon compiles trained models to small, fast libraries, and tunes them.

bin/tenon needs no installation: leave the folder as it is and call it from anywhere.
    bin/tenon help
    bin/tenon compile model.onnx -o out/
It runs on Linux with glibc 2.36 or later. lib/tenon holds XGBoost, for tenon tune alone.
"""


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(file):
    """[soname] that an ELF file asks for."""
    lines = output("readelf", "--dynamic", "--wide", str(file)).splitlines()
    return [line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line]


def find_library(name):
    for line in output("/sbin/ldconfig", "-p").splitlines():
        if line.split(" ")[0].strip() == name and "x86-64" in line:
            return pathlib.Path(line.split("=> ")[1])
    sys.exit(f"portable.py: there is no {name} on this machine")


def with_needed(name):
    """{soname: file} of a library and all that it needs beyond the C library."""
    files, open_names = {}, [name]
    while open_names:
        name = open_names.pop()
        if name not in files and not name.startswith(OF_THE_SYSTEM):
            files[name] = find_library(name)
            open_names += needed(files[name])
    return files


def write_licences(folder, tenon, root):
    folder.mkdir()
    shutil.copy(root / "LICENSE", folder / "tenon.txt")
    (folder / "all.txt").write_text(output(str(tenon), "licenses", "--full"))
    for name in ("Apache-2.0", "GPL-3"):  # the notices name these without their text
        shutil.copy(COMMON_LICENCES / name, folder / f"{name}.txt")


def strip(file, folder):
    subprocess.run(["strip", "-o", folder / file.name, file], check=True)


def add_gpu_tests(build, folder):
    folder.mkdir()
    strip(build / "tests" / "gpu" / "gpu_check", folder)
    strip(build / "tests" / "measure" / "libtold_driver.so", folder)
    shutil.copytree(SUITE, folder / "onnx")


def pack(build, root, quality=False, gpu=False):
    tools = build / "tools" / "tenon"
    version = output(str(tools / "tenon"), "version").split()[1]
    folder = build / f"tenon-{version}-{platform.machine()}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    (folder / "lib" / "tenon").mkdir(parents=True)
    for name in ("tenon", "tenon-run"):
        strip(tools / name, folder / "bin")
    if quality:
        strip(build / "bench" / "search" / "quality" / "quality_bench", folder / "bin")
    if gpu:
        add_gpu_tests(build, folder / "gpu")
    for name in ("tenon-build", "tenon-compare"):
        (folder / "bin" / name).symlink_to("tenon")
    for name, file in with_needed("libxgboost.so.0").items():
        shutil.copy(file, folder / "lib" / "tenon" / name)
    shutil.copytree(root / "share", folder / "share")
    write_licences(folder / "licences", folder / "bin" / "tenon", root)
    (folder / "README.txt").write_text(README)
    return folder


def archive(folder):
    file = folder.with_name(folder.name + ".tar.xz")
    subprocess.run(["tar", "--create", "--file", file, "--owner=0", "--group=0", "--sort=name",
                    "--use-compress-program=xz -9 --threads=1",
                    "--directory", folder.parent, folder.name], check=True)
    return file


def main():
    arguments = [a for a in sys.argv[1:] if a not in ("--quality", "--gpu")]
    folder = pack(pathlib.Path(arguments[0]).resolve(), pathlib.Path(__file__).resolve().parents[1],
                  "--quality" in sys.argv, "--gpu" in sys.argv)
    file = archive(folder)
    print(f"{folder}\n{file}: {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

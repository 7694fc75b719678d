# SPDX-License-Identifier: Apache-2.0
"""check_install.py BUILD: does what `cmake --install` writes work, wherever it is moved?

A user who is not root installs into a folder of his, renames that, and uses it: the programs, the C++ interface by
find_package and by pkg-config, an artifact by find_package. Prints one line per check and exits 1 if one fails.
"""
import pathlib
import sys
import tempfile

from checks import Checks, User, elf_files, names_folders, needed

COMPILER = "clang++-19"
ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = """bin/tenon bin/tenon-build bin/tenon-compare bin/tenon-run include/tenon/tenon.h include/tenon/runtime.h
lib/libtenon.so lib/cmake/tenon/tenonConfig.cmake lib/pkgconfig/tenon.pc share/man/man1/tenon.1
share/man/man1/tenon-compile.1 share/bash-completion/completions/tenon share/zsh/vendor-completions/_tenon
share/fish/vendor_completions.d/tenon.fish share/tenon/programs share/tenon/models share/doc/tenon/copyright
share/doc/tenon/examples/cpp_api/CMakeLists.txt share/doc/tenon/examples/serving/main.c""".split()
ARTIFACT_PROJECT = """cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C)
find_package(tenon 0.1 REQUIRED)
tenon_artifact(dqn ../out)
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE dqn)
"""
ARTIFACT_MAIN = """#include <stdio.h>
#include "dqn.h"
int main(void) {
  const char* why = "";
  dqn_ctx* ctx = dqn_create(1, &why);
  printf("%s %d\\n", ctx ? "made" : why, dqn_input_count());
  dqn_destroy(ctx);
  return ctx == NULL;
}
"""


def install(checks, user, build):
    """As CMake does it; it also wants to write a list of the files into the build folder."""
    listed = build / "install_manifest.txt"
    listed.touch()
    listed.chmod(0o666)
    first, moved = user.home / "first", user.home / "moved"
    user.check(checks, "installs without being root", "cmake", "--install", build, "--prefix", first, "--strip")
    user.check(checks, "can be moved", "mv", first, moved)
    return moved


def check_files(checks, prefix):
    missing = [name for name in FILES if not (prefix / name).exists()]
    checks.expect(not missing, "all files are there", f"not {missing}")
    inside = "".join(f.read_text() for f in (prefix / "lib").rglob("*.cmake")) + \
        (prefix / "lib/pkgconfig/tenon.pc").read_text()
    checks.expect(str(ROOT) not in inside, "no file names the tree that it was built in")
    told = [file.name for file in elf_files(prefix) if names_folders(file)]
    checks.expect(not told, "no program names folders of the machine that built it", f"{told} do")


def check_programs(checks, user, prefix):
    tenon = prefix / "bin" / "tenon"
    user.check(checks, "tenon -V", tenon, "-V", says="tenon 0.")
    user.check(checks, "tenon zoo write", tenon, "zoo", "write", "dqn", "-o", "dqn.onnx")
    user.check(checks, "tenon compile", tenon, "compile", "dqn.onnx", "-o", "out")
    user.check(checks, "tenon tune finds its tools", tenon, "tune", "dqn.onnx", "--trials", "4", "--cost-model",
               "random", "-o", "tuned", "--db", "records.db")
    env = {"MANPATH": str(prefix / "share/man"), "MANPAGER": "cat"}
    user.check(checks, "man tenon-compile", "man", "tenon-compile", env=env, says="tenon compile [OPTIONS]")


def build_project(checks, user, what, source, folder, prefix):
    user.check(checks, f"{what}: configures", "cmake", "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
               env={"CC": "clang-19", "CXX": COMPILER})
    user.check(checks, f"{what}: builds", "cmake", "--build", folder)


def check_interfaces(checks, user, prefix):
    example = prefix / "share/doc/tenon/examples/cpp_api"
    build_project(checks, user, "find_package(tenon)", example, user.home / "cpp", prefix)
    user.check(checks, "find_package(tenon): runs", user.home / "cpp/cpp_api", "dqn.onnx", "by_cpp", says="is the largest")
    flags = user.check(checks, "pkg-config tenon", "pkg-config", "--cflags", "--libs", "tenon",
                       env={"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}, says="-ltenon").split()
    user.check(checks, "pkg-config: builds", COMPILER, "-std=c++17", example / "main.cpp", "-o", "by_hand", *flags)
    user.check(checks, "pkg-config: runs", "./by_hand", "dqn.onnx", "by_pc", says="is the largest",
               env={"LD_LIBRARY_PATH": str(prefix / "lib")})
    source = user.home / "consumer"
    user.check(checks, "a project of its own", "mkdir", source)
    for name, text in (("CMakeLists.txt", ARTIFACT_PROJECT), ("main.c", ARTIFACT_MAIN)):
        user.check(checks, f"writes {name}", "tee", source / name, input=text)
    build_project(checks, user, "tenon_artifact()", source, user.home / "used", prefix)
    user.check(checks, "tenon_artifact(): runs", user.home / "used/consumer", says="made 1")
    asked = needed(user.home / "used/consumer")
    checks.expect("libdqn.so" in asked, "tenon_artifact(): the program names no path", str(asked))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        user = User(folder)
        prefix = install(checks, user, build)
        if prefix.is_dir():
            check_files(checks, prefix)
            check_programs(checks, user, prefix)
            check_interfaces(checks, user, prefix)
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())

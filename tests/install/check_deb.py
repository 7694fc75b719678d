# SPDX-License-Identifier: Apache-2.0
"""check_deb.py BUILD [FILE.deb]: does the package hold what it should, and declare what it needs?

Makes the .deb of a build, unless one is given. Each library that its programs ask for must come from a package that it
depends on. Then it is used by a user who is not root, in a root directory that holds the package, the libraries of those
that it depends on (and of those that these do), and nothing else. Prints one line per check and exits 1 if one fails.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from checks import Checks, alone, elf_files, fill_root, needed, output, run_inside

FILES = """usr/bin/tenon usr/bin/tenon-build usr/bin/tenon-compare usr/bin/tenon-run usr/include/tenon/tenon.h
usr/lib/libtenon.so usr/lib/cmake/tenon/tenonConfig.cmake usr/lib/pkgconfig/tenon.pc usr/share/man/man1/tenon.1
usr/share/bash-completion/completions/tenon usr/share/doc/tenon/copyright""".split()


def make(build, folder):
    """Quickly packed: what travels is packed well by ./dev package."""
    subprocess.run(["cpack", "-G", "DEB", "-B", folder, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "--config",
                    build / "CPackConfig.cmake"], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    (file,) = pathlib.Path(folder).glob("*.deb")
    return file


def names(field):
    """The packages of a field such as Depends: the first of alternatives, without versions."""
    return {part.split("|")[0].split("(")[0].split(":")[0].strip() for part in field.split(",")} - {""}


def closure(packages):
    """With what these depend on; virtual ones and those that are not installed are left out."""
    found, todo = set(), set(packages)
    while todo:
        name = todo.pop()
        r = subprocess.run(["dpkg-query", "-W", "-f", "${Depends},${Pre-Depends}", name], capture_output=True,
                           text=True, check=False)
        if r.returncode == 0:
            found.add(name)
            todo |= names(r.stdout) - found
    return found


def shared_libraries(packages):
    for package in packages:
        for line in output("dpkg-query", "-L", package).splitlines():
            if re.search(r"\.so(\.|$)", line) and os.path.exists(line) and not os.path.isdir(line):
                yield line


def check_contents(checks, deb):
    listed = set(re.findall(r" \./(\S+)", output("dpkg-deb", "--contents", deb)))
    missing = [name for name in FILES if name not in listed]
    checks.expect(not missing, f"{deb.name} holds all files", f"not {missing}")
    owners = re.findall(r"^\S+ (\S+)", output("dpkg-deb", "--contents", deb), re.MULTILINE)
    checks.expect(set(owners) == {"root/root"}, "all of them are root's", str(set(owners)))


def check_dependencies(checks, deb, folder):
    declared = names(output("dpkg-deb", "--field", deb, "Depends"))
    checks.expect("libc6" in declared, "it declares what it needs", str(declared))
    checks.expect("libxgboost0" in output("dpkg-deb", "--field", deb, "Recommends"), "it recommends XGBoost")
    places = {pathlib.Path(path).name: package for package in declared for path in shared_libraries([package])}
    own = {file.name for file in folder.rglob("*.so*")}
    for file in elf_files(folder):
        missing = needed(file) - set(places) - own
        checks.expect(not missing, f"all that {file.name} needs is declared", f"not {missing}: {declared}")
    return declared


def check_use(checks, root, version):
    for args, says in (
            (["-V"], version),
            (["zoo", "write", "dqn", "-o", "/home/dqn.onnx"], ""),
            (["compile", "/home/dqn.onnx", "-o", "/home/dqn"], "wrote"),
            (["compare", "/home/dqn.onnx", "/home/dqn", "--reference", "plain"], ""),
            (["tune", "/home/dqn.onnx", "--trials", "4", "--cost-model", "random", "-o", "/home/tuned"], "")):
        r = run_inside(root, ["/usr/bin/tenon"] + args)
        checks.expect(r.returncode == 0 and says in r.stdout, "tenon " + " ".join(args),
                      f"exit {r.returncode}\n{r.stdout}{r.stderr}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        deb = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else make(build, folder)
        root = folder / "root"
        subprocess.run(["dpkg-deb", "-x", deb, root], check=True)
        check_contents(checks, deb)
        declared = check_dependencies(checks, deb, root)
        if alone() is None:
            print("left out: it is not used, since this system allows no mounts of one's own")
        else:
            fill_root(root, shared_libraries(closure(declared)))
            os.chmod(folder, 0o755)
            check_use(checks, root, output("dpkg-deb", "--field", deb, "Version").strip())
        print(f"{deb.name}: {deb.stat().st_size / 1e6:.1f} MB, depends on {', '.join(sorted(declared))}")
    return checks.conclude()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""What the checks of installed programs have in common."""
import os
import pathlib
import re
import shutil
import subprocess

NOBODY = 65534
LOADER = "/lib64/ld-linux-x86-64.so.2"
# Nothing of whoever runs the test, who may have settings or libraries of his own.
SURROUNDINGS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, good, what, why=""):
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {what}" + (f": {why}" if not good and why else ""))

    def conclude(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


class User:
    """Runs commands as a user who is not root, with a home of his own in `folder`."""

    def __init__(self, folder):
        self.home = pathlib.Path(folder)
        self.prefix = []
        if os.geteuid() == 0:
            os.chmod(folder, 0o755)
            os.chown(folder, NOBODY, NOBODY)
            self.prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]

    def run(self, *command, **more):
        env = {**SURROUNDINGS, "HOME": str(self.home), **more.pop("env", {})}
        return subprocess.run(self.prefix + [str(c) for c in command], env=env, text=True,
                              capture_output=True, check=False, timeout=300, cwd=self.home, **more)

    def check(self, checks, what, *command, says="", **more):
        """Expects exit code 0 and `says` in what the command prints, which is returned."""
        r = self.run(*command, **more)
        good = r.returncode == 0 and says in r.stdout + r.stderr
        checks.expect(good, what, f"exit {r.returncode}\n{r.stdout}{r.stderr}")
        return r.stdout


def output(*command):
    command = [str(c) for c in command]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(file):
    """The sonames that an ELF file asks for."""
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", file)))


def names_folders(file):
    """Whether an ELF file tells the loader where to look: folders of the machine that built it."""
    return "PATH)" in output("readelf", "--dynamic", "--wide", file)


def elf_files(folder):
    for file in sorted(pathlib.Path(folder).rglob("*")):
        if file.is_file() and not file.is_symlink() and file.open("rb").read(4) == b"\x7fELF":
            yield file


MOUNT = """for d in proc sys dev; do mount --rbind /$d "$0/$d" || exit 99; done
exec chroot $USERSPEC "$0" "$@" """


def alone():
    """A command that runs another one with mounts of its own; None where the kernel allows nobody that."""
    command = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    allowed = subprocess.run(command + ["true"], capture_output=True, check=False).returncode == 0
    return command if allowed else None


def fill_root(root, libraries):
    """Makes a folder a root directory with these libraries of this machine, and a home for a user who is not root."""
    for part in ("proc", "sys", "dev", "tmp", "home", "lib64"):
        (root / part).mkdir(parents=True, exist_ok=True)
    shutil.copy(LOADER, root / LOADER[1:])
    for path in libraries:
        place = root / str(path)[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)  # what a link leads to, under the link's name
    os.chmod(root, 0o755)
    if os.geteuid() == 0:
        os.chown(root / "home", NOBODY, NOBODY)
    os.chmod(root / "tmp", 0o1777)


def run_inside(root, command):
    """Runs a command in a root directory of its own, not as root, with no variables but a few."""
    userspec = f"--userspec={NOBODY}:{NOBODY}" if os.geteuid() == 0 else ""
    env = {**SURROUNDINGS, "HOME": "/home", "USERSPEC": userspec}
    return subprocess.run(alone() + ["sh", "-c", MOUNT, str(root)] + command, env=env, capture_output=True, text=True,
                          timeout=300, check=False)

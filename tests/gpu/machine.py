# SPDX-License-Identifier: Apache-2.0
"""Where the programs are, how they are run, and when they must end."""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DRIVER = "TENON_CUDA_LIBRARY"


class Failure(Exception):
    """A check could not be made; its text is what the report says."""


class Absent(Exception):
    """What a part needs is not on this machine."""


def first(*paths):
    return next((path for path in paths if path and path.exists()), None)


def package_data():
    """The suite in Python's onnx, where that is installed; its cases may be newer than what tenon reads."""
    try:
        import onnx
    except ImportError:
        return None
    return pathlib.Path(onnx.__file__).parent / "backend/test/data"


def find_sanitizer():
    places = [shutil.which("compute-sanitizer")]
    for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if home:
            places += [f"{home}/bin/compute-sanitizer", f"{home}/compute-sanitizer/compute-sanitizer"]
    return first(*[pathlib.Path(place) for place in places if place])


@dataclasses.dataclass
class Machine:
    """A portable folder with what tools/portable.py --gpu adds, or a build tree; and how much is asked for."""
    folder: pathlib.Path
    out: pathlib.Path
    target: str
    small: bool
    data: pathlib.Path = None
    sanitizer: pathlib.Path = None
    end: float = float("inf")  # of the part that runs now, as time.monotonic() counts
    driver: str = ""  # instead of libcuda.so.1

    def __post_init__(self):
        self.tenon = first(self.folder / "bin/tenon", self.folder / "tools/tenon/tenon")
        if not self.tenon:
            print(f"gpu test: there is no tenon in {self.folder}", file=sys.stderr)
            sys.exit(2)
        self.check = first(self.folder / "gpu/gpu_check", self.folder / "tests/gpu/gpu_check")
        self.told_driver = first(self.folder / "gpu/libtold_driver.so", self.folder / "tests/measure/libtold_driver.so")
        self.data = first(self.data, self.folder / "gpu/onnx", pathlib.Path("/usr/share/libonnx-testdata/data"),
                          package_data())
        self.sanitizer = self.sanitizer or find_sanitizer()
        self.is_card = self.target != "cuda simt"

    def clear(self):
        """Removes what an earlier run compiled, perhaps by another program; what PyTorch wrote stays."""
        shutil.rmtree(self.out / "artifacts", ignore_errors=True)
        for model in self.out.glob("models/*.onnx"):
            if not model.with_suffix(".pt").exists():
                model.unlink()

    def left(self):
        return max(1.0, min(86400.0, self.end - time.monotonic()))

    def needed(self, name):
        """A file that only folders for these tests have."""
        path = getattr(self, name)
        if not path:
            raise Absent(f"{name} is not in {self.folder}; make the folder by tools/portable.py BUILD --gpu")
        return path

    def environment(self, more=None):
        known = {**os.environ, **({DRIVER: self.driver} if self.driver else {})}
        return {**known, **(more or {})}

    def run(self, command, more=None, limit_s=None):
        """subprocess.CompletedProcess with what it printed; Failure when its time is over."""
        limit = min(self.left(), limit_s or 86400)
        words = [str(word) for word in command]
        # Of its own group, so that what it started ends with it.
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   env=self.environment(more), start_new_session=True)
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise Failure(f"{' '.join([pathlib.Path(words[0]).name, *words[1:4]])} took longer than {limit:.0f} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    def must(self, command, **options):
        done = self.run(command, **options)
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip().splitlines()
            raise Failure(f"{' '.join([command[0].name, *[str(w) for w in command[1:4]]])} exits {done.returncode}:"
                          f" {words[-1] if words else 'no message'}")
        return done.stdout

    def child(self, check, folder, count=0, more=None):
        """What child.py found."""
        done = self.run([sys.executable, HERE / "child.py", check, folder, count], more)
        try:
            return json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            words = done.stderr.strip().splitlines()
            raise Failure(f"{check}: the process ended with {done.returncode}: {words[-1] if words else ''}") from None

    def model(self, name, *options):
        """The ONNX file of a network of the zoo."""
        path = self.out / "models" / f"{'-'.join([name, *[o.lstrip('-') for o in options]])}.onnx"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".part{os.getpid()}")
            self.must([self.tenon, "zoo", "write", name, "-o", part, "-q", *options])
            part.rename(path)
        return path

    def compiled(self, model, target=None, more=None, options=()):
        """The folder of a library; MORE is the environment of the compiler."""
        target = target or self.target
        words = [model.stem, target.replace(" ", "_"), *[f"{key}-{value}" for key, value in (more or {}).items()]]
        folder = self.out / "artifacts" / "-".join(words)
        if not folder.exists():
            self.must([self.tenon, "compile", model, "--name", "net", "--target", target, "-o", folder, "-q", *options],
                      more=more)
        return folder

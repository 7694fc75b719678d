# SPDX-License-Identifier: Apache-2.0
"""check_format.py CLANG_FORMAT ROOT: names the source files that clang-format would change."""
import pathlib
import subprocess
import sys

from check_sources import source_files

if __name__ == "__main__":
    tool, root = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    files = [str(path) for path in source_files(root) if path.suffix != ".def"]
    run = subprocess.run([tool, "--dry-run", *files], capture_output=True, text=True, check=True)
    wrong = sorted({line.split(":", 1)[0] for line in run.stderr.splitlines() if "warning: code should be" in line})
    print("\n".join(f"{path}: run ./dev format" for path in wrong) or "format: no faults")
    sys.exit(1 if wrong else 0)

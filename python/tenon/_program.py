# SPDX-License-Identifier: Apache-2.0
"""The tenon program: where it lies, and how it is run."""
from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from typing import Callable, Optional, Sequence

from ._error import Error


def program() -> str:
    """The path of the tenon program: the one inside the package, else the one in PATH."""
    inside = pathlib.Path(__file__).parent / "bin" / "tenon"
    if inside.is_file():
        return str(inside)
    found = shutil.which("tenon")
    if found is None:
        raise Error("there is no tenon program (install tenon, or add its folder to PATH)")
    return found


def _failure(code: int, lines: Sequence[str]) -> Error:
    """What the program said on stderr before it ended."""
    for kind in ("tenon: error: ", "tenon: internal error: "):
        for at, line in enumerate(lines):
            if line.startswith(kind):
                sentence = line[len(kind if kind == "tenon: error: " else "tenon: "):]
                details = [*lines[:at], *lines[at + 1:]]
                return Error(sentence, tuple(d for d in details if not _is_aside(d)), code)
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return Error(f"the tenon program ended with {how}", tuple(lines), code)


def _is_aside(line: str) -> bool:
    """Warnings, and what the program has chosen by itself, say nothing about what is wrong."""
    return _is_warning(line) or line.startswith(("name  ", "sizes  "))


def _is_warning(line: str) -> bool:
    return line.startswith("tenon: warning: ")


def _tell_warnings(lines: Sequence[str]) -> None:
    for line in lines:
        if _is_warning(line):
            warnings.warn(line[len("tenon: warning: "):], stacklevel=5)


def run(args: Sequence[str], stdin: bytes = b"", line: Optional[Callable[[bytes], None]] = None,
        words: Callable[[str], str] = str) -> bytes:
    """What the program answers on stdout; each line of it also goes to `line` when it is there.

    `words` says errors and warnings in other words.
    Ctrl-C, or an exception of `line`, asks the program to finish what it does and save it; the
    exception goes on when the program has ended.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        # In a group of its own: a Ctrl-C of the terminal would reach it a second time otherwise.
        process = subprocess.Popen([program(), *args], stdin=given, stdout=subprocess.PIPE,
                                   stderr=said, start_new_session=True)
        answer = _answer(process, line)
        said.seek(0)
        lines = [words(text) for text in said.read().decode(errors="replace").splitlines()]
    if process.returncode != 0:
        raise _failure(process.returncode, lines)
    _tell_warnings(lines)
    return answer


def _answer(process: subprocess.Popen, line: Optional[Callable[[bytes], None]]) -> bytes:
    assert process.stdout is not None
    got = []
    try:
        for text in process.stdout:
            got.append(text)
            if line is not None:
                line(text)
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        _see_out(process)
        raise
    finally:
        process.stdout.close()
    return b"".join(got)


def _see_out(process: subprocess.Popen) -> None:
    """Waits for a program that was asked to end; a second Ctrl-C ends it at once."""
    try:
        for _ in process.stdout or ():
            pass
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise


def command(*args: str) -> str:
    """Runs `tenon ARGS...` and gives its answer; what goes wrong is an Error."""
    return run(args).decode(errors="replace")


def main() -> None:
    """The command `tenon` of the package: this process becomes the program."""
    os.execv(program(), ["tenon", *sys.argv[1:]])

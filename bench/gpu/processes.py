# SPDX-License-Identifier: Apache-2.0
"""Programs of Python that run beside each other for a limited time.

    group = Group([["modules.py", "--out", "models", "--cases", "resnet18"], ..], log)
    group.wait(60)                                                # whether all ended well; what still runs is ended
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


class Group:
    """Each has a group of its own, so that what it starts ends with it."""

    def __init__(self, commands, log, environment=None):
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log, self.began = log, time.monotonic()
        with open(log, "a") as output:
            self.processes = [subprocess.Popen([sys.executable, "-W", "ignore", str(HERE / command[0]), *command[1:]],
                                               stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                               env={**os.environ, **(environment or {})}) for command in commands]

    def wait(self, seconds):
        end = time.monotonic() + seconds
        good = True
        for process in self.processes:
            try:
                good &= process.wait(max(0.01, end - time.monotonic())) == 0
            except subprocess.TimeoutExpired:
                good = False
        self.end()
        return good

    def end(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # also what an ended one left behind
            except ProcessLookupError:
                pass
            process.wait()

    def took(self):
        return time.monotonic() - self.began


def dealt(names, hands):
    """NAMES over at most HANDS lists, in turn: neighbours, which are alike, come to different ones."""
    lists = [names[i::hands] for i in range(min(hands, len(names)))]
    return [names_ for names_ in lists if names_]

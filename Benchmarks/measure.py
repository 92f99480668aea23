"""One run of one command, as the kernel accounts for it, and what several runs come to."""

import os
import statistics
import subprocess
import time
from dataclasses import dataclass


@dataclass
class Sample:
    """One run. Seconds, seconds of processor time, bytes, and the status."""

    wall: float
    cpu: float
    peak: int
    status: int


@dataclass
class Command:
    """A tool's way of doing a workload."""

    tool: str
    words: list
    # Whether the tool itself holds the bytes against a digest that it was given.
    verifies: bool = False
    # Whether it is another tool for the same job: not mirror, nor a bound that no tool can pass.
    is_peer: bool = True
    environment: dict = None
    # Status that is no failure besides 0.
    accepts: tuple = (0,)


def run(command, log, folder):
    """Runs a command to its end; `log` gets what it prints.

    The peak is that of the largest single process (wait4(2)); it is never less than this
    interpreter's own, which the child held for a moment before it became the command.
    """
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
    environment.update(command.environment or {})
    with open(log, "ab") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command.words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            cwd=folder, env=environment)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            # Whoever breaks the measurement off must not leave it running on a folder that goes.
            process.kill()
            process.wait()
            raise
        wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return Sample(
        wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode)


def median(samples, figure):
    return statistics.median(getattr(sample, figure) for sample in samples)


def spread(samples):
    """The shortest and the longest run, in seconds."""
    return min(s.wall for s in samples), max(s.wall for s in samples)


def version(words):
    """The first line that a tool prints of itself; None when it is not installed."""
    try:
        result = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    except FileNotFoundError:
        return None
    lines = (result.stdout or result.stderr).strip().splitlines()
    return lines[0][:80] if lines else ""

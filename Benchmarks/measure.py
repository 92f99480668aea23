"""One run of one command, as the kernel accounts for it, and what several runs come to."""

import json
import os
import signal
import statistics
import subprocess
import sys
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


class Runner:
    """A small process that runs commands and reports what they took.

    A child keeps its parent's peak memory through fork(2) and exec(2) (getrusage(2), ru_maxrss), and
    the benchmark's own grows to 100 MiB and more. This process stays below 16 MiB.
    """

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-E", "-S", os.path.abspath(__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, command, log, folder):
        """Runs a command to its end; `log` gets what it prints."""
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "LANG": "C.UTF-8"}
        environment.update(command.environment or {})
        json.dump([command.words, log, folder, environment], self.process.stdin)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        try:
            answer = self.process.stdout.readline()
        except BaseException:
            # A measurement that is broken off must not leave its command running.
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        if not answer:
            raise RuntimeError(f"{command.words[0]} could not be run")
        return Sample(*json.loads(answer))


def serve():
    """Runs the commands that standard input names, one a line, until it ends."""
    for line in sys.stdin:
        words, log, folder, environment = json.loads(line)
        with open(log, "ab") as output:
            began = time.monotonic()
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder,
                env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        print(json.dumps([wall, cpu, usage.ru_maxrss * 1024, process.returncode]), flush=True)


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


if __name__ == "__main__":
    serve()

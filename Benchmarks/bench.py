"""Runs workloads with every tool that is installed, in turn, and reports ratios to mirror."""

import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import measure
import peers
import report
from filesystem import OwnFileSystem
from origin import Origin
from workload import make_file
from workloads import WORKLOADS


# How many times the fastest tool's time a tool may take to be run in every round.
FAR_BEHIND = 5


class Bench:
    """What the workloads share: the origin, the folder that all is made in, and its files."""

    def __init__(self, arguments):
        self.mirror = os.path.abspath(arguments.mirror)
        self.runs = arguments.runs
        self.runner = measure.Runner()
        self.is_quick = arguments.quick
        self.place = tempfile.mkdtemp(prefix="mirror-bench-", dir=arguments.folder)
        self.log = os.path.join(self.place, "log")
        self.installed = peers.installed()
        self.made = {}
        # Workloads that have been prepared, and may have something running.
        self.begun = []
        self.file_system = OwnFileSystem(self.place)
        self.origin = Origin(os.path.join(self.place, "origin"))

    def end(self):
        self.origin.stop()
        for workload in self.begun:
            workload.end()
        self.file_system.end()
        shutil.rmtree(self.place, ignore_errors=True)

    def scaled(self, whole, quick):
        return quick if self.is_quick else whole

    def shared_file(self, name, size):
        if name not in self.made:
            say(f"making {name}")
            self.made[name] = (name, size, make_file(os.path.join(self.origin.www, name), size))
        return self.made[name]

    def shared_folder(self, folder, count, size):
        if folder not in self.made:
            say(f"making {count} files in {folder}")
            names = [f"{folder}/{n // 500:03d}/{n:05d}.bin" for n in range(count)]
            self.made[folder] = [
                (name, size, make_file(os.path.join(self.origin.www, name), size))
                for name in names]
        return self.made[folder]

    def floor(self):
        return self.compiled("floor", ("-lcurl", "-lcrypto", "-lsqlite3", "-lpthread"))

    def compiled(self, name, libraries=()):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".c")
        program = os.path.join(self.place, name)
        if not os.path.exists(program):
            compiler = shutil.which("cc") or shutil.which("clang") or "gcc"
            subprocess.run([compiler, "-O2", "-o", program, source, *libraries], check=True)
        return program

    def empty_file_system(self, folder):
        """An empty folder on which nothing was ever removed, or the nearest to it."""
        if not self.file_system.lack:
            self.file_system.renew(folder)
            return
        if os.path.exists(folder):
            # What is not removed is not searched past: `end` removes it.
            os.makedirs(os.path.join(self.place, "aside"), exist_ok=True)
            os.rename(folder, tempfile.mkdtemp(dir=os.path.join(self.place, "aside")))
        os.makedirs(folder)

    def run_uncounted(self, command):
        sample = self.runner.run(command, self.log, self.place)
        if sample.status not in command.accepts:
            say(f"{command.tool} ended with {sample.status} while its tree was made")

    def measure(self, workload):
        """Every tool once in each round, so that a slower minute is slower for all.

        Each round begins with another tool: the first one after a pause meets memory that the
        machine has taken back, and writes four gigabytes in up to twice the time.

        A tool that took more than `FAR_BEHIND` times as long as the fastest is not run again: it
        is not the best peer, and would take most of the time.
        """
        if workload.wants_own_file_system:
            lack = self.file_system.lack
            workload.remarks.append(
                f"Runs share a file system, of which others' files were not removed: {lack}."
                if lack else "Each run has a new ext4 of its own, in a loop image.")
        self.begun.append(workload)
        commands = workload.prepare()
        samples = {command.tool: [] for command in commands}
        notes, flaws = {}, {command.tool: [] for command in commands}
        for round_ in range(self.runs):
            walls = {tool: measure.median(runs, "wall") for tool, runs in samples.items() if runs}
            peers_walls = [walls[c.tool] for c in commands if c.is_peer and c.tool in walls]
            slow = {c.tool for c in commands if c.is_peer and c.tool in walls
                    and c.tool not in workload.named
                    and walls[c.tool] > FAR_BEHIND * min(peers_walls)}
            first = round_ % len(commands)
            for command in commands[first:] + commands[:first]:
                if command.tool in slow:
                    continue
                say(f"{workload.name}, {workload.title}, round {round_ + 1} of {self.runs}: "
                    f"{command.tool}")
                workload.before(command)
                # What the tool before left to be written must not fall into this one's time.
                os.sync()
                runs = [self.runner.run(command, self.log, self.place)
                        for _ in range(workload.repeats)]
                samples[command.tool] += runs
                status = max(sample.status for sample in runs)
                if status not in command.accepts:
                    flaws[command.tool].append(f"ended with {status}")
                elif wrong := workload.flaw(command):
                    flaws[command.tool].append(wrong)
                if hasattr(workload, "notes"):
                    notes[command.tool] = workload.notes(command)
        workload.end()
        self.file_system.end()
        shutil.rmtree(os.path.join(self.place, "target"), ignore_errors=True)
        return {
            command.tool: report.Result(
                command, samples[command.tool], notes.get(command.tool, {}), flaws[command.tool])
            for command in commands}


def say(words):
    print(f"  {words}", file=sys.stderr, flush=True)


def machine(bench):
    with open("/proc/cpuinfo") as file:
        lines = file.read()
    model = [line.split(":")[1].strip() for line in lines.splitlines() if "model name" in line]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "runs": bench.runs,
        "processors": os.cpu_count(), "model": model[0] if model else platform.machine(),
        "shaInstructions": " sha_ni" in lines or " sha2" in lines,
        "kernel": platform.release(), "quick": bench.is_quick, "peers": bench.installed,
        "load": os.getloadavg()[0],
    }


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="e.g. W1 W3; default: all")
    parser.add_argument("--mirror", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--page", help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=5, help="rounds (5)")
    parser.add_argument("--quick", action="store_true", help="smaller workloads; page untouched")
    parser.add_argument("--folder", help="where files are made (the temporary folder); 15 GiB")
    parser.add_argument("--json", metavar="FILE", help="write everything measured there")
    arguments = parser.parse_args()
    known = {kind.name: kind for kind in WORKLOADS}
    unknown = [name for name in arguments.workloads if name not in known]
    if unknown:
        parser.error(f"{unknown[0]} is no workload; there are {', '.join(known)}")
    # Ended from outside, it still stops its servers and unmounts its file system.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = Bench(arguments)
    done = []
    try:
        for kind in [known[name] for name in arguments.workloads] or WORKLOADS:
            workload = kind(bench)
            measured = [(case, bench.measure(case)) for case in workload.cases()]
            done.append((workload, measured))
            print(report.section(workload, measured), flush=True)
            facts = machine(bench)
            # A long run that is broken off keeps what it has found.
            if arguments.page and not arguments.quick:
                report.update(arguments.page, facts["date"], done)
            if arguments.json:
                report.save(arguments.json, report.document(facts, done))
    finally:
        bench.end()
    results = [result for _, measured in done for _, results in measured
               for result in results.values()]
    return 1 if any(r.flaws for r in results if r.tool.startswith("mirror")) else 0


sys.exit(main())

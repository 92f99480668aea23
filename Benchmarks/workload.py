"""What every workload has: its files, a target for each run, and what its goals are made of."""

import hashlib
import os
import shutil

from peers import Peers

MIB = 1 << 20


class Workload:
    """Files below the origin, and the tools that fetch them.

    `goals` are (words, function of the results that gives a ratio or a figure, bound, sense), where
    sense is `">="` or `"<="`.
    """

    name = ""
    title = ""
    goals = ()
    # The tools that a goal names: they run in every round, however slow one round was.
    named = ()
    # Whether the target is emptied before a run, or kept as the run before left it.
    starts_fresh = True
    # Whether each run wants a file system on which nothing was ever removed.
    wants_own_file_system = False
    # How often a command is repeated within one run, for those that end within milliseconds.
    repeats = 1

    def __init__(self, bench):
        self.bench = bench
        self.target = os.path.join(bench.place, "target", self.name)
        self.scratch = os.path.join(bench.place, "scratch", self.name)
        # What the reader of the table has to know about how it was measured.
        self.remarks = []
        os.makedirs(self.scratch, exist_ok=True)

    def cases(self):
        """What is measured with a table of its own; most workloads are one case."""
        return [self]

    def prepare(self):
        """Makes files, and gives the commands in the order in which they are interleaved."""
        raise NotImplementedError

    def before(self, command):
        """Makes the target ready for a run."""
        if not self.starts_fresh:
            return
        if self.wants_own_file_system:
            self.bench.empty_file_system(self.target)
        else:
            shutil.rmtree(self.target, ignore_errors=True)
            os.makedirs(self.target)

    def end(self):
        """Ends what `prepare` started."""

    def flaw(self, command):
        """What is wrong with what a run left; None when every byte is right."""
        prefix = "Caches/" if command.tool.startswith("mirror") else ""
        for name, size, sha256 in self.files:
            path = os.path.join(self.target, prefix + name)
            if not os.path.isfile(path):
                return f"{name} is not there"
            if os.path.getsize(path) != size or digest(path) != sha256:
                return f"{name} has wrong bytes"
        return None

    def unasked(self):
        """What is wrong with the requests since the last look; None when all were asked for."""
        asked = {line.split()[1] for line in self.bench.origin.requests()
                 if line.split()[0] in ("GET", "HEAD")}
        missing = sum(1 for name, _, _ in self.files if "/" + name not in asked)
        return f"{missing} files were not asked about" if missing else None

    def peers(self, manner, jobs=16):
        return Peers(
            self.bench.mirror, self.bench.origin.url(manner), self.files, self.target,
            self.scratch, self.bench.origin.certificate, jobs)

    def only_installed(self, commands):
        """Commands whose program is there; what is no peer always is."""
        return [c for c in commands
                if not c.is_peer or c.tool.split()[0].strip(",") in self.bench.installed]


def digest(path):
    sha256 = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(MIB):
            sha256.update(block)
    return sha256.hexdigest()


def make_file(path, size):
    """Random bytes, which neither a disk nor a connection can compress; gives their sha256."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    sha256 = hashlib.sha256()
    left = size
    with open(path, "wb") as file:
        while left:
            block = os.urandom(min(left, MIB))
            file.write(block)
            sha256.update(block)
            left -= len(block)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return sha256.hexdigest()


def against(tool):
    """A tool's wall time by mirror's: over 1, mirror is faster."""
    return lambda results: results[tool].wall / results["mirror"].wall


def against_best(pick):
    """The best peer's wall time by mirror's: over 1, mirror is faster."""
    def ratio(results):
        others = [r.wall for r in results.values() if r.is_peer and pick(r) and not r.flaws]
        return min(others) / results["mirror"].wall if others else None
    return ratio


def peak_mib(results):
    return results["mirror"].peak / MIB


def verifying(result):
    return result.verifies


def anyone(result):
    return True

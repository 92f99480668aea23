"""What is measured. Each workload makes its files once, and a fresh target for each run."""

import hashlib
import os
import shutil
import subprocess

from measure import Command
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
    # Whether the target is emptied before a run, or kept as the run before left it.
    starts_fresh = True
    # Whether what a run made is removed only after the last run.
    keeps_old_targets = False
    # How often a command is repeated within one run, for those that end within milliseconds.
    repeats = 1

    def __init__(self, bench):
        self.bench = bench
        self.target = os.path.join(bench.place, "target", self.name)
        self.scratch = os.path.join(bench.place, "scratch", self.name)
        os.makedirs(self.scratch, exist_ok=True)

    def prepare(self):
        """Makes files, and gives the commands in the order in which they are interleaved."""
        raise NotImplementedError

    def before(self, command):
        if self.starts_fresh:
            if self.keeps_old_targets and os.path.exists(self.target):
                # ext4 passes over inodes that were freed a moment ago, one after another: the time
                # of whoever comes next would depend on what was removed for it.
                self.bench.set_aside(self.target)
            shutil.rmtree(self.target, ignore_errors=True)
            os.makedirs(self.target)

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

    def peers(self, manner, jobs=16):
        return Peers(
            self.bench.mirror, self.bench.origin.url(manner), self.files, self.target,
            self.scratch, self.bench.origin.certificate, jobs)

    def only_installed(self, commands):
        return [c for c in commands
                if c.tool.startswith("mirror") or c.tool.split()[0].strip(",")
                in self.bench.installed]


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


def wall(tool):
    return lambda results: results[tool].wall


def against_best(pick):
    """The best peer's wall time by mirror's: over 1, mirror is faster."""
    def ratio(results):
        others = [r.wall for r in results.values() if r.tool != "mirror" and pick(r) and not r.flaws]
        return min(others) / results["mirror"].wall if others else None
    return ratio


def peak_mib(results):
    return results["mirror"].peak / MIB


def verifying(result):
    return result.verifies


def anyone(result):
    return True


def unverifying(result):
    return not result.verifies


class OneLargeFile(Workload):
    manner = "plain"

    def prepare(self):
        size = self.bench.scaled(4 << 30, 256 * MIB)
        self.files = [self.bench.shared_file("large.bin", size)]
        p = self.peers(self.manner)
        return self.only_installed([
            p.mirror(), p.curl(), p.curl_then_sha256sum(), p.aria2c(verifies=True), p.aria2c(),
            p.wget2(), p.lftp()])


class W1(OneLargeFile):
    name = "W1"
    title = "one 4 GiB file, HTTP/1.1"
    goals = (
        ("x the best that verifies", against_best(verifying), 1.5, ">="),
        ("x curl, which verifies nothing",
         lambda r: r["curl"].wall / r["mirror"].wall, 0.9, ">="),
        ("MiB at most", peak_mib, 48, "<="),
    )


class W2(OneLargeFile):
    name = "W2"
    title = "one 4 GiB file, TLS 1.3"
    manner = "tls"
    goals = W1.goals[:2]


class ManySmallFiles(Workload):
    manner = "plain"
    # As the others have theirs: how many at once serves mirror best.
    at_once = ()
    keeps_old_targets = True
    goals = (("x the best peer", against_best(anyone), 1.2, ">="),)

    def prepare(self):
        count = self.bench.scaled(20_000, 2_000)
        self.files = self.bench.shared_folder("small", count, 4096)
        p = self.peers(self.manner)
        return self.only_installed([
            p.mirror(self.at_once), p.curl(), p.aria2c(), p.wget2(), p.rclone("small"),
            p.lftp("small")])


class W3(ManySmallFiles):
    name = "W3"
    title = "20,000 files of 4 KiB, HTTP/1.1"
    goals = ManySmallFiles.goals + (("MiB at most", peak_mib, 64, "<="),)


class W4(ManySmallFiles):
    name = "W4"
    title = "20,000 files of 4 KiB, HTTP/2 over TLS"
    manner = "tls"
    at_once = ("--jobs", "64", "--per-host", "64")


class W5(Workload):
    name = "W5"
    title = "200 files of 10 MiB, HTTP/1.1"
    goals = (
        ("x the best that verifies nothing", against_best(unverifying), 1.0, ">="),
        ("x the best that verifies", against_best(verifying), 1.5, ">="),
    )

    def prepare(self):
        count = self.bench.scaled(200, 20)
        self.files = self.bench.shared_folder("medium", count, 10 * MIB)
        p = self.peers("plain")
        return self.only_installed([
            p.mirror(), p.curl(), p.curl_then_sha256sum(), p.aria2c(verifies=True), p.aria2c(),
            p.wget2(), p.rclone("medium"), p.lftp("medium")])


class NothingChanged(Workload):
    """Pinned entries that are all there; beside it a C program that looks at each file, once."""

    starts_fresh = False
    count = 0

    def prepare(self):
        self.files = []
        count = self.bench.scaled(self.count, self.count // 20)
        tree = os.path.join(self.target, "Caches")
        manifest = os.path.join(self.scratch, "manifest.json")
        with open(manifest, "w") as file:
            file.write('{"version":1,"name":"bench","base":"http://127.0.0.1:9/maps/",'
                       '"resources":[')
            for folder in range(0, count, 1000):
                os.makedirs(f"{tree}/{folder // 1000:04d}", exist_ok=True)
                for number in range(folder, min(folder + 1000, count)):
                    name = f"{folder // 1000:04d}/tile-{number:07d}.bin"
                    content = b"tile %d\n" % number
                    with open(f"{tree}/{name}", "wb") as tile:
                        tile.write(content)
                    sha256 = hashlib.sha256(content).hexdigest()
                    file.write("," if number else "")
                    file.write(f'\n{{"path":"Caches/{name}","url":"{name}",'
                               f'"size":{len(content)},"sha256":"{sha256}"}}')
            file.write("\n]}\n")
        sync = [self.bench.mirror, "sync", manifest, "--root", self.target, "-q"]
        # The first run takes the files in by their digests; nothing is asked for.
        subprocess.run(sync, check=True)
        looker = self.bench.compiled("stat_all")
        return [Command("mirror", sync, verifies=True), Command("stat loop", [looker, tree])]

    def flaw(self, command):
        return None


class W6a(NothingChanged):
    name = "W6a"
    title = "nothing changed: 100,000 pinned entries"
    count = 100_000


class W6b(NothingChanged):
    name = "W6b"
    title = "nothing changed: 1,000,000 pinned entries"
    count = 1_000_000
    goals = (
        ("x the time of the stat loop, at most",
         lambda r: r["mirror"].wall / r["stat loop"].wall, 2.0, "<="),
        ("MiB at most", peak_mib, 192, "<="),
    )


class W7(Workload):
    name = "W7"
    title = "nothing changed: 20,000 unpinned entries, each asked about"
    goals = (("x the best peer", against_best(anyone), 1.2, ">="),)
    starts_fresh = False

    def prepare(self):
        count = self.bench.scaled(20_000, 2_000)
        self.files = self.bench.shared_folder("small", count, 4096)
        commands = []
        for tool in ("mirror", "wget2", "wget", "aria2c", "rclone"):
            # A tree for each: all are filled by the tool itself, before the first run counts.
            self.target = os.path.join(self.bench.place, "target", self.name, tool)
            os.makedirs(self.target, exist_ok=True)
            p = self.peers("logged")
            if tool == "mirror":
                unpinned = p.manifest(pinned=False, refresh="always")
                commands.append(p.mirror(("--jobs", "32", "--per-host", "32"), unpinned))
            elif tool == "aria2c":
                commands.append(p.aria2c(
                    options=["--conditional-get=true", "--allow-overwrite=true"]))
            elif tool == "rclone":
                commands.append(p.rclone("small"))
            else:
                commands.append(getattr(p, tool)(options=["-N"]))
        commands = self.only_installed(commands)
        for command in commands:
            self.bench.run_uncounted(command)
        self.bench.origin.requests()
        return commands

    def before(self, command):
        self.bench.origin.requests()

    def flaw(self, command):
        lines = self.bench.origin.requests()
        asked = {line.split()[1] for line in lines if line.split()[0] in ("GET", "HEAD")}
        missing = sum(1 for name, _, _ in self.files if "/" + name not in asked)
        return f"{missing} files were not asked about" if missing else None


class W8(Workload):
    name = "W8"
    title = "one 256 MiB file, each connection limited to 5 MB/s"
    goals = (
        ("x aria2c with as many connections",
         lambda r: r["aria2c"].wall / r["mirror"].wall, 1.0, ">="),
        ("of the bytes sent more than once, at most",
         lambda r: r["mirror"].notes.get("excess"), 0.05, "<="),
    )

    def prepare(self):
        size = self.bench.scaled(256 * MIB, 64 * MIB)
        self.files = [self.bench.shared_file("limited.bin", size)]
        p = self.peers("slow")
        return self.only_installed([
            p.mirror(options=["--segments", "16", "--per-host", "16"]),
            p.aria2c(connections=16), p.lftp(pieces=16)])

    def before(self, command):
        super().before(command)
        self.bench.origin.requests()

    def notes(self, command):
        sent = sum(int(line.split()[3]) for line in self.bench.origin.requests())
        return {"excess": max(0.0, sent / self.files[0][1] - 1)}


class W9a(Workload):
    name = "W9a"
    title = "start-up: --version"
    goals = (("ms at most", lambda r: r["mirror"].wall * 1000, 5, "<="),)
    repeats = 50
    files = ()

    def prepare(self):
        commands = [Command("mirror", [self.bench.mirror, "--version"])]
        if "curl" in self.bench.installed:
            commands.append(Command("curl", ["curl", "--version"]))
        return commands


class W9b(Workload):
    name = "W9b"
    title = "start-up: a sync of one small file that is there"
    goals = (("ms at most", lambda r: r["mirror"].wall * 1000, 10, "<="),)
    starts_fresh = False
    repeats = 50

    def prepare(self):
        self.files = self.bench.shared_folder("small", self.bench.scaled(20_000, 2_000), 4096)[:1]
        os.makedirs(self.target, exist_ok=True)
        command = self.peers("plain").mirror()
        self.bench.run_uncounted(command)
        return [command]


WORKLOADS = [W1, W2, W3, W4, W5, W6a, W6b, W7, W8, W9a, W9b]

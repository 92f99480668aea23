"""Instructions that a command takes, counted under valgrind's callgrind, digests apart."""

import os
import shutil
import subprocess
from dataclasses import dataclass

# Seconds for one command; a crowded machine needs most of them.
LIMIT = 900


@dataclass
class Count:
    """Instructions of all threads outside the kernel, and those of them that computed digests."""

    whole: int
    digest: int

    @property
    def apart(self):
        return self.whole - self.digest


def lack():
    """Why nothing can be counted here; None where it can."""
    missing = [name for name in ("valgrind", "openssl", "cc") if not shutil.which(name)]
    return f"there is no {' and no '.join(missing)}" if missing else None


class Callgrind:
    """Runs commands under callgrind, with what they leave in `place`.

    The digest's share cannot be told from the rest by a name, because OpenSSL is installed without
    those of its inner functions. But valgrind names such a function by its place in the library,
    and the function in which `openssl dgst -sha256` spends most of its instructions is the one that
    computes SHA-256. What a command spends in that function itself is its digests.
    """

    def __init__(self, place):
        self.place = place
        self.log = os.path.join(place, "valgrind.log")
        self.sha256 = self.find_sha256()

    def find_sha256(self):
        sample = os.path.join(self.place, "digest.sample")
        with open(sample, "wb") as file:
            file.write(os.urandom(1 << 20))
        costs = self.costs(["openssl", "dgst", "-sha256", sample])
        name, most = max(costs.items(), key=lambda item: item[1])
        if "libcrypto" not in name or most < sum(costs.values()) / 2:
            raise RuntimeError(f"openssl spends most in {name}, which cannot be SHA-256")
        return name

    def count(self, command):
        costs = self.costs(command)
        return Count(sum(costs.values()), costs.get(self.sha256, 0))

    def costs(self, command):
        """Instructions by function, each without those that it calls."""
        out = os.path.join(self.place, "callgrind.out")
        # Threads take turns in order: who runs next is then less a matter of chance.
        words = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={out}"]
        environment = {"PATH": os.environ["PATH"], "HOME": self.place, "LANG": "C.UTF-8"}
        with open(self.log, "wb") as log:
            done = subprocess.run(
                words + command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.place,
                env=environment, timeout=LIMIT, check=False)
        if done.returncode != 0:
            with open(self.log, errors="replace") as log:
                raise RuntimeError(
                    f"{' '.join(command)} ended with {done.returncode}:\n{log.read()}")
        costs, whole = parsed(out)
        if sum(costs.values()) != whole:
            raise RuntimeError(f"the functions in {out} do not add up to its total")
        os.unlink(out)
        return costs


def parsed(path):
    """What each function took itself, by library and name; and the total that the file tells.

    The format is callgrind's (its manual, "Callgrind Format Specification"): a name is given once
    with its number, and by the number afterwards. The line after `calls=` is what the call took,
    which is counted where it was spent.
    """
    names, costs = {}, {}
    library = function = ""
    whole = None
    skips = False

    def named(kind, text):
        number, _, name = text.partition(" ")
        if name:
            names[kind, number] = name
        return names[kind, number]

    with open(path, errors="replace") as file:
        for line in file:
            key, equals, value = line.rstrip("\n").partition("=")
            if key == "ob":
                library = named("ob", value)
            elif key == "fn":
                function = f"{library}: {named('fn', value)}"
            elif key == "cob":
                named("ob", value)
            elif key == "cfn":
                named("fn", value)
            elif key == "calls":
                skips = True
            elif line[:1] in "0123456789+-*" and not equals:
                if not skips:
                    costs[function] = costs.get(function, 0) + int(line.split()[1])
                skips = False
            elif line.startswith("totals: "):
                whole = int(line.split()[1])
    return costs, whole

"""How each tool is told to do a workload, with the flags that make it fastest."""

import os

from measure import Command, version

TOOLS = {
    "mirror": None,
    "curl": ["curl", "--version"],
    "aria2c": ["aria2c", "--version"],
    "wget2": ["wget2", "--version"],
    "wget": ["wget", "--version"],
    "rclone": ["rclone", "version"],
    "lftp": ["lftp", "--version"],
}


def installed():
    """The version of every peer that is there."""
    found = {name: version(words) for name, words in TOOLS.items() if words}
    return {name: text for name, text in found.items() if text is not None}


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


class Peers:
    """Commands over the files of a workload.

    `files` are (name, size, sha256) below the address; `target` is an empty folder; `scratch` is a
    folder for lists and settings. `jobs` is how many transfers a tool may have at once; without it
    each has as many as it has by itself.
    """

    def __init__(self, mirror, address, files, target, scratch, certificate=None, jobs=16):
        self.mirror_program = mirror
        self.address = address
        self.files = files
        self.target = target
        self.scratch = scratch
        self.certificate = certificate if address.startswith("https") else None
        self.jobs = jobs

    def path(self, name):
        return os.path.join(self.scratch, name)

    def mirror(self, options=(), manifest=None):
        manifest = manifest or self.manifest()
        words = [self.mirror_program, "sync", manifest, "--root", self.target, "-q"]
        if self.certificate:
            words += ["--cacert", self.certificate]
        return Command("mirror", words + list(options), verifies=True, is_peer=False)

    def floor(self, program, verb, connections):
        """The same work in plain C; it compares nothing, and is no tool (floor.c)."""
        list_ = write(
            self.path("floor.list"), "".join(f"{name}\n" for name, _, _ in self.files))
        words = [program, verb, self.address, list_, self.target, str(connections)]
        return Command("floor", words, is_peer=False)

    def openssl(self, www):
        """The digests of the origin's own files, and nothing else; it is no tool for the job."""
        names = write(self.path("names"), "".join(f"{name}\0" for name, _, _ in self.files))
        script = f"cd '{www}' && xargs -0 openssl dgst -sha256 <'{names}'"
        return Command("openssl, digests alone", ["sh", "-c", script], is_peer=False)

    def manifest(self, pinned=True, refresh=None):
        """A manifest of the files, with their digests or without."""
        path = self.path("pinned.json" if pinned else "unpinned.json")
        with open(path, "w") as file:
            file.write('{"version":1,"name":"bench","base":"%s/","resources":[' % self.address)
            for number, (name, size, sha256) in enumerate(self.files):
                file.write(",\n" if number else "\n")
                file.write(f'{{"path":"Caches/{name}","url":"{name}"')
                if pinned:
                    file.write(f',"size":{size},"sha256":"{sha256}"')
                if refresh:
                    file.write(f',"refresh":"{refresh}"')
                file.write("}")
            file.write("\n]}\n")
        return path

    def curl(self, keeps_times=False, asks=False):
        """Fetches, with the server's times or its own; or asks by those whether a file is old."""
        lines = []
        for name, _, _ in self.files:
            path = f"{self.target}/{name}"
            if asks:
                # A condition counts up to the next `next`, and so does a `fail`.
                lines += ["next", "fail", f'time-cond = "{path}"']
                lines += [f'cacert = "{self.certificate}"'] if self.certificate else []
            lines.append(f'url = "{self.address}/{name}"\noutput = "{path}"')
        name = "curl-asks.conf" if asks else "curl.conf"
        config = write(self.path(name), "\n".join(lines[1 if asks else 0:]) + "\n")
        words = ["curl", "-fsSR" if keeps_times or asks else "-fsS", "--create-dirs"]
        if len(self.files) > 1:
            words.append("--parallel")
            words += ["--parallel-max", str(self.jobs * 4)] if self.jobs else []
        words += ["-K", config]
        if self.certificate:
            words += ["--cacert", self.certificate]
        return Command("curl", words)

    def curl_then_sha256sum(self):
        """curl, and then coreutils read the file again."""
        curl = " ".join(f"'{word}'" for word in self.curl().words)
        sums = "\n".join(f"{sha256}  {name}" for name, _, sha256 in self.files)
        list_ = write(self.path("sums"), sums + "\n")
        script = f"{curl} && cd '{self.target}' && sha256sum --quiet -c '{list_}'"
        return Command("curl, sha256sum", ["sh", "-c", script], verifies=True)

    def aria2c(self, connections=1, verifies=False, options=()):
        lines = []
        for name, _, sha256 in self.files:
            lines.append(f"{self.address}/{name}\n  out={name}")
            if verifies:
                lines.append(f"  checksum=sha-256={sha256}")
        list_ = write(self.path("aria2.list"), "\n".join(lines) + "\n")
        words = [
            "aria2c", "-q", "-i", list_, "-d", self.target, f"-x{connections}",
            f"-s{connections}", "-k1M", "--file-allocation=none",
            "--auto-file-renaming=false", "--disk-cache=64M", "--check-certificate=false"]
        words += [f"-j{self.jobs}"] if self.jobs else []
        name = "aria2c --checksum" if verifies else "aria2c"
        return Command(name, words + list(options), verifies=verifies)

    def wget2(self, options=()):
        list_ = write(
            self.path("wget.list"),
            "".join(f"{self.address}/{name}\n" for name, _, _ in self.files))
        words = ["wget2", "-q", "-nH", "-x", "-P", self.target, "--progress=none", "--no-robots",
                 "-i", list_]
        words += [f"--max-threads={self.jobs}"] if self.jobs else []
        if self.certificate:
            words.append(f"--ca-certificate={self.certificate}")
        return Command("wget2", words + list(options))

    def wget(self, options=()):
        list_ = write(
            self.path("wget.list"),
            "".join(f"{self.address}/{name}\n" for name, _, _ in self.files))
        return Command(
            "wget", ["wget", "-q", "-nH", "-x", "-P", self.target, "-i", list_] + list(options))

    def rclone(self, folder="", options=()):
        """Copies a folder; the file names come from the server's listing."""
        words = ["rclone", "copy", ":http:" + folder, self.target + "/" + folder,
                 "--http-url", self.address, "--config", "/dev/null", "--no-check-certificate",
                 "-q"]
        if self.jobs:
            words += ["--transfers", str(self.jobs * 2), "--checkers", str(self.jobs * 2)]
        return Command("rclone", words + list(options))

    def lftp(self, folder="", pieces=1):
        """Mirrors a folder, or fetches one file in pieces."""
        if len(self.files) == 1:
            name = self.files[0][0]
            get = f"pget -n {pieces}" if pieces > 1 else "get"
            work = f"{get} {self.address}/{name} -o {self.target}/{name}"
        else:
            work = f"mirror --parallel={self.jobs} {self.address}/{folder}/ {self.target}/{folder}"
        script = f"set ssl:verify-certificate no; set cmd:fail-exit yes; {work}"
        return Command("lftp", ["lftp", "-c", script])

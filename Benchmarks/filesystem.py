"""A file system for each run, on which nothing was ever removed: ext4 in a loop image.

After twenty thousand files were removed, whoever makes as many again on the same ext4 pays for it
with up to seconds of system time, probably for the search past inodes that were freed a moment ago.
A tool's time would then depend on which tool ran before it.
"""

import os
import shutil
import subprocess
import tempfile

SIZE = 2 << 30
INODES = 200_000


class OwnFileSystem:
    """Made anew and mounted at a folder by `renew`; `lack` says why there is none, if so."""

    def __init__(self, place):
        self.image = os.path.join(place, "filesystem.image")
        self.mounted = None
        self.lack = self.find_lack(place)

    def find_lack(self, place):
        if os.geteuid() != 0:
            return "only root may mount one"
        if not shutil.which("mkfs.ext4") or not shutil.which("mount"):
            return "mkfs.ext4 or mount is missing"
        trial = tempfile.mkdtemp(dir=place)
        try:
            self.renew(trial)
        except subprocess.CalledProcessError as error:
            return f"{error.cmd[0]} failed: {error.stderr.decode().strip().splitlines()[-1:]}"
        finally:
            self.end()
        return None

    def renew(self, folder):
        self.end()
        with open(self.image, "wb") as image:
            image.truncate(SIZE)
        # Tables that are written in the background would be written during the measurement.
        run(["mkfs.ext4", "-q", "-F", "-m", "0", "-N", str(INODES),
             "-E", "lazy_itable_init=0,lazy_journal_init=0", self.image])
        os.makedirs(folder, exist_ok=True)
        run(["mount", "-o", "loop,noatime", self.image, folder])
        self.mounted = folder
        os.rmdir(os.path.join(folder, "lost+found"))

    def end(self):
        if self.mounted:
            run(["umount", self.mounted])
            self.mounted = None
        if os.path.exists(self.image):
            os.unlink(self.image)


def run(command):
    subprocess.run(command, check=True, capture_output=True)

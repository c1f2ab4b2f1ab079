# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One running guest: started, waited for, reached, stopped."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

from . import qemu
from .image import ssh_key
from .settings import CACHE, RUNNING, Unusable

BOOT_SECONDS = int(os.environ.get("GPUHOST_VM_BOOT_SECONDS") or 300)
BOOTS_TRIED = 3     # of an emulated guest: QEMU's emulation crashes a kernel now and then, mostly while it boots
SSH_OPTIONS = ("-F", "none", "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
               "-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=60", "-o", "ServerAliveInterval=15",
               "-o", "ServerAliveCountMax=4")
SOCKET_PATH_LIMIT = 107 - len(".0123456789abcdef")      # sockaddr_un, less what ssh appends while it makes the socket


class Guest:
    """A guest by its name. Its folder holds guest.json, serial.log, qemu.log and the socket of QEMU's monitor."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = RUNNING / name
        self._record = self.folder / "guest.json"

    @property
    def record(self) -> dict:
        """`{release, port, accelerator, pid, started}`; empty where no such guest was started."""
        try:
            return json.loads(self._record.read_text())
        except FileNotFoundError:
            return {}

    @property
    def running(self) -> bool:
        record = self.record
        return bool(record) and _start_time(record["pid"]) == record["started"]

    def start(self, release: str, image: pathlib.Path, accelerator: str, append: str = "",
              virtual: bool = False, systemd: bool = False, initramfs: pathlib.Path | None = None) -> None:
        """Starts QEMU and returns at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "serial.log").write_bytes(b"")
        port = _free_port()
        with open(self.folder / "qemu.log", "wb") as log:
            command = qemu.command(image, accelerator, name=self.name, port=port, append=append, virtual=virtual,
                                   init=qemu.SYSTEMD if systemd else qemu.SCRIPT, initramfs=initramfs)
            process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       start_new_session=True)
        self._record.write_text(json.dumps({"release": release, "port": port, "accelerator": accelerator,
                                            "pid": process.pid, "started": _start_time(process.pid)}))

    def console(self) -> str:
        return (self.folder / "serial.log").read_text(errors="replace")

    def boots(self) -> int:
        """How often this guest has come up since it was started."""
        return len(self._kernels())

    def kernel(self) -> str:
        """The kernel's release, as the guest said when it had come up."""
        return self._kernels()[-1]

    def _kernels(self) -> list[str]:
        # Whole lines only: the console is read while it is written.
        return re.findall(rf"{qemu.READY}: (\S+)\r?\n", self.console())

    def crashes(self) -> int:
        """How often its kernel has panicked since it was started."""
        return len(re.findall(r"(?<!end )Kernel panic - not syncing", self.console()))

    def wait(self, boots: int = 1, crashes: int = 0) -> None:
        """Until it has come up for the `boots`th time and sshd runs; it had crashed `crashes` times before."""
        end, tries = time.monotonic() + BOOT_SECONDS, BOOTS_TRIED
        while self.boots() < boots:
            if not self.running:
                raise Unusable(f"{self.name}: QEMU ended:\n{(self.folder / 'qemu.log').read_text()}")
            crashed = self.crashes() > crashes
            if crashed and tries > 1 and self.record["accelerator"] == "tcg":
                tries, crashes, end = tries - 1, self.crashes(), time.monotonic() + BOOT_SECONDS
                self.monitor("system_reset")
            elif crashed or time.monotonic() > end:
                tail = "\n".join(self.console().splitlines()[-15:])
                raise Unusable(f"{self.name} did not come up in {BOOT_SECONDS} s. The end of its console:\n{tail}")
            time.sleep(0.2)

    def reboot(self) -> None:
        """As the reset button: nothing is shut down. What was written to the disk stays."""
        before, crashes = self.boots(), self.crashes()
        self._disconnect()
        self.monitor("system_reset")
        self.wait(before + 1, crashes)

    def reboot_by_itself(self) -> None:
        """As its own systemd does it: processes are ended, file systems unmounted, the machine is reset."""
        before, crashes = self.boots(), self.crashes()
        self.run("systemctl reboot --force", check=False)
        self._disconnect()
        self.wait(before + 1, crashes)

    def monitor(self, command: str, **arguments: object) -> None:
        """A command for QEMU's monitor."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(30)
                link.connect(f"/proc/self/fd/{folder}/qmp")     # the path itself may be too long for a socket
                answers = link.makefile("rw")
                answers.readline()
                for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                    answers.write(json.dumps(request) + "\n")
                    answers.flush()
                    answer = json.loads(answers.readline())
                    if "error" in answer:
                        raise Unusable(f"{self.name}: {command}: {answer['error']['desc']}")
        finally:
            os.close(folder)

    def ssh_command(self, *remote: str) -> list[str]:
        return [*self._ssh(), "root@127.0.0.1", *remote]

    def _ssh(self) -> list[str]:
        port = self.record["port"]
        words = ["ssh", *SSH_OPTIONS, "-i", str(ssh_key().with_suffix("")), "-p", str(port)]
        # Commands share one connection: an emulated processor takes seconds to make one.
        shared = str(CACHE / f"ssh-{port}")
        if len(shared) <= SOCKET_PATH_LIMIT:
            words += ["-o", f"ControlPath={shared}", "-o", "ControlMaster=auto", "-o", "ControlPersist=60"]
        return words

    def _disconnect(self) -> None:
        """Ends the shared connection, which would wait for a guest that no longer knows it."""
        subprocess.run([*self._ssh(), "-O", "exit", "root@127.0.0.1"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def run(self, script: str, check: bool = True, timeout: float = 300) -> str:
        """Standard output of a shell script in the guest."""
        done = subprocess.run(self.ssh_command("sh", "-s"), input=script, capture_output=True, text=True, check=False,
                              timeout=timeout)
        if check and done.returncode:
            raise Unusable(f"{self.name}: exit status {done.returncode} of:\n{script}\n{done.stderr}{done.stdout}")
        return done.stdout

    def copy(self, files: list[pathlib.Path], folder: str) -> None:
        """Files, all of one folder here, into a folder of the guest, which is made."""
        names = [path.name for path in files]
        packed = subprocess.run(["tar", "-C", str(files[0].parent), "-c", *names], check=True, stdout=subprocess.PIPE)
        subprocess.run(self.ssh_command(f"mkdir -p {folder} && tar -C {folder} -x"), input=packed.stdout, check=True,
                       timeout=300)

    def stop(self) -> None:
        """Ends the QEMU that `start` started, and no other process that has got its number since."""
        record = self.record
        for sign, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
            if not self.running:
                break
            os.kill(record["pid"], sign)
            _wait_for_end(record["pid"], record["started"], seconds)
        self._record.unlink(missing_ok=True)

    def remove(self) -> None:
        """Stops it and forgets it, console and all."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def known_guests() -> list[Guest]:
    """Guests that were started from this checkout and not stopped, by name."""
    return [Guest(path.parent.name) for path in sorted(RUNNING.glob("*/guest.json"))]


def _start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat, ticks since boot; None for a process that has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def _wait_for_end(pid: int, started: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while _start_time(pid) == started and time.monotonic() < end:
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

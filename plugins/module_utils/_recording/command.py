# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""gpuhost-record, a command that writes a recording to standard output on a host without Ansible.

It opens no file for writing; redirect its output in the shell.
"""
from __future__ import annotations

import argparse
import os
import signal
import sys

from .._host.reading import error_text
from .._one_file.version import COLLECTION, VERSION
from .record import MAX_BYTES, Recording, record

NAME = "gpuhost-record"
FAILED, MISUSED = 1, 2      # exit statuses; argparse ends with 2 as well
_SHOWN = 3                  # paths named in a message

_ABOUT = """\
Read this machine as an audit of the collection %(collection)s does, and write an archive of what was read to
standard output. Nothing on the machine is changed: no file is opened for writing, no module is loaded and no suspended
device is woken. It needs Python 3.9 or newer and nothing else, and no root; with root there is more to read.

    sudo python3 %(name)s.pyz > $(hostname).tar.gz

Secrets are masked before anything is written. Names of hosts and guests, addresses and serial numbers stay,
unless you say --anonymise. Look into the archive before you hand it on: tar tzf FILE.
"""
_STATUSES = """\
exit status:
  0  the recording was written as a whole
  1  the machine could not be read, or the recording could not be written
  2  wrong arguments, or standard output is a terminal
  %d  --timeout has passed: something hangs
"""


def main(words: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    options = _parse(words)
    if sys.stdout.isatty():
        return _fail(f"standard output is a terminal, and the recording is an archive: {NAME} > FILE.tar.gz", MISUSED)
    _say(f"reading {'this machine' if options.sysroot == '/' else options.sysroot}, nothing is changed")
    if os.geteuid() != 0:
        _say("not root: files that only root can read will be missing, and the recording lists them")
    # Python cannot handle a signal while it waits for a file system; unhandled, the signal ends the process.
    signal.setitimer(signal.ITIMER_REAL, options.timeout)
    try:
        recording = record(options.sysroot, options.tunable, max_bytes=options.max_bytes, anonymise=options.anonymise,
                           key=int.from_bytes(os.urandom(2), "big"))
    except ValueError as problem:
        return _fail(str(problem))
    signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        sys.stdout.buffer.write(recording.archive)
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stdout = None       # else Python tries to flush the rest at exit, and reports an error
        return _fail(f"the recording could not be written: {error_text(error)}")
    _tell(recording, options.anonymise)
    return 0


def _parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=NAME, formatter_class=argparse.RawDescriptionHelpFormatter,
        description=_ABOUT % {"name": NAME, "collection": COLLECTION}, epilog=_STATUSES % (128 + signal.SIGALRM))
    parser.add_argument("--anonymise", action="store_true",
                        help="replace names of hosts and guests, addresses, serial numbers and UUIDs "
                             "that mean nothing in another recording")
    parser.add_argument("--tunable", action="append", default=[], metavar="ADDRESS",
                        help="read this tunable too, for example sysctl:vm.laptop_mode; can be repeated")
    parser.add_argument("--sysroot", default="/", metavar="FOLDER", help="read a directory that mirrors a machine")
    parser.add_argument("--max-bytes", type=int, default=MAX_BYTES, metavar="N",
                        help="fail if all files together have more bytes (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS",
                        help="timeout in seconds, 0 for none (default: %(default)g)")
    parser.add_argument("--version", action="version", version=f"{NAME} {VERSION}")
    return parser.parse_args(words)


def _tell(recording: Recording, anonymised: bool) -> None:
    _say(f"{recording.files} files and links, {len(recording.archive)} bytes, SHA-256 {recording.sha256}")
    if recording.denied:
        more = len(recording.denied) - _SHOWN
        _say(f"permission denied for {len(recording.denied)} of them: {', '.join(recording.denied[:_SHOWN])}"
             + (f" and {more} more" if more > 0 else ""))
    _say("secrets are masked" + ("" if anonymised else "; names, addresses and serial numbers are not (--anonymise)"))


def _say(text: str) -> None:
    sys.stderr.write(f"{NAME}: {text}\n")


def _fail(text: str, status: int = FAILED) -> int:
    _say(text)
    return status

# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""What a machine answered when it was asked for one value."""
from __future__ import annotations

import errno
import os
from typing import Any, Callable, NamedTuple

OK = "ok"
ABSENT = "absent"
DENIED = "denied"
READ_ONLY = "read_only"
ASLEEP = "asleep"
GONE = "gone"
PASSED_THROUGH = "passed_through"
UNPARSABLE = "unparsable"
STATUSES = (OK, ABSENT, DENIED, READ_ONLY, ASLEEP, GONE, PASSED_THROUGH, UNPARSABLE)

# ENOTSUPP (include/linux/errno.h) is internal to the kernel, yet proc_nmi_watchdog() lets it out.
ENOTSUPP = 524

LARGEST = 1 << 64       # no kernel has a number beyond it

_STATUS_OF_ERRNO = {
    errno.ENOENT: ABSENT,
    errno.ENOTDIR: ABSENT,
    errno.ENODEV: ABSENT,
    errno.ENXIO: ABSENT,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.EROFS: READ_ONLY,
}


class Reading(NamedTuple):
    """One answer: a status of STATUSES, the value (None unless the status is ok) and, where it helps, why."""

    status: str
    value: Any = None
    detail: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == OK

    def map(self, parse: Callable[[Any], Any]) -> Reading:
        """The reading with `parse` applied to its value; what `parse` cannot take is unparsable.

        TypeError and AttributeError are among it: JSON of a host has any type anywhere.
        """
        if not self.ok:
            return self
        try:
            return Reading(OK, parse(self.value))
        except RecursionError:
            return Reading(UNPARSABLE, None, "it is nested too deep")
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as why:
            return self._unparsable(why)

    def _unparsable(self, why: Exception) -> Reading:
        return Reading(UNPARSABLE, None, f"{self.value!r}: {why}"[:200])

    def fact(self) -> dict:
        """The shape that facts use: `{status, value}`."""
        return {"status": self.status, "value": self.value}


class FileReading(Reading):
    """A reading that remembers its file, so that whoever hears of a text that makes no sense knows where to look.

    `text` is what the file holds, where it could not be parsed. It compares as any other reading.
    """

    path: str
    text: str | None = None

    @classmethod
    def of(cls, path: str, *fields: Any) -> FileReading:
        reading = cls(*fields)
        reading.path = path
        return reading

    def map(self, parse: Callable[[Any], Any]) -> Reading:
        found = super().map(parse)
        return found if found is self or isinstance(found, FileReading) else FileReading.of(self.path, *found)

    def _unparsable(self, why: Exception) -> Reading:
        found = FileReading.of(self.path, *super()._unparsable(why))
        found.text = str(self.value)[:80]
        return found


def ok(value: Any) -> Reading:
    return Reading(OK, value)


def error_text(error: OSError) -> str:
    """`EINVAL (Invalid argument)`, also for the kernel's 524, which has no name in user space."""
    if error.errno == ENOTSUPP:
        return "ENOTSUPP (errno 524, operation is not supported)"
    name = errno.errorcode.get(error.errno or 0)
    text = error.strerror or str(error)
    return f"{name} ({text})" if name else text


def from_error(error: OSError) -> Reading:
    """The reading that stands for a failed system call."""
    return Reading(_STATUS_OF_ERRNO.get(error.errno or 0, UNPARSABLE), None, error_text(error))


def as_facts(thing: Any) -> Any:
    """`thing` as plain JSON types: every Reading becomes `{status, value}`, tuples become lists.

    A number that JSON or the controller cannot hold (infinity, none, beyond LARGEST) is `unparsable`, or null.
    """
    if isinstance(thing, Reading):
        if isinstance(thing.value, (int, float)) and not abs(thing.value) < LARGEST:
            return {"status": UNPARSABLE, "value": None}
        return {"status": thing.status, "value": as_facts(thing.value)}
    if isinstance(thing, dict):
        return {key: as_facts(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [as_facts(value) for value in thing]
    if isinstance(thing, float) and not abs(thing) < LARGEST:
        return None
    return os.fsdecode(thing) if isinstance(thing, bytes) else thing

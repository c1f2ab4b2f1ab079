# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""The result of reading one value from a host."""
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
NOT_RECORDED = "not_recorded"
STATUSES = (OK, ABSENT, DENIED, READ_ONLY, ASLEEP, GONE, PASSED_THROUGH, UNPARSABLE, NOT_RECORDED)

# ENOTSUPP (include/linux/errno.h) is internal to the kernel, yet proc_nmi_watchdog() returns it to user space.
ENOTSUPP = 524

LARGEST = 1 << 64       # no kernel value exceeds it

_STATUS_OF_ERRNO = {
    errno.ENOENT: ABSENT,
    errno.ENOTDIR: ABSENT,
    errno.ENODEV: ABSENT,
    errno.ENXIO: ABSENT,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.EROFS: READ_ONLY,
}


class NotRecorded(Exception):
    """The answer depends on something that the recording lacks; the message says why.

    A live host never raises it. It is not an OSError, so that it cannot be mistaken for a missing file.
    """


class _Fields(NamedTuple):
    status: str
    value: Any = None
    detail: str | None = None


class Reading(_Fields):
    """One answer: a status of STATUSES, the value (None unless the status is ok) and, where useful, the reason."""

    def __new__(cls, status: str, value: Any = None, detail: str | None = None) -> Reading:
        return super().__new__(Unrecorded if status == NOT_RECORDED else cls, status, value, detail)

    @property
    def ok(self) -> bool:
        return self.status == OK

    def map(self, parse: Callable[[Any], Any]) -> Reading:
        """Apply `parse` to the value; if `parse` rejects it, the reading becomes unparsable.

        TypeError and AttributeError count as rejection: a host's JSON may have any type anywhere.
        """
        if not self.ok:
            return self
        try:
            return Reading(OK, parse(self.value))
        except NotRecorded as why:
            return Reading(NOT_RECORDED, None, str(why))
        except RecursionError:
            return Reading(UNPARSABLE, None, "it is nested too deep")
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as why:
            return self._unparsable(why)

    def _unparsable(self, why: Exception) -> Reading:
        return Reading(UNPARSABLE, None, f"{self.value!r}: {why}"[:200])

    def told(self) -> Reading:
        """Return the reading itself; raises NotRecorded if the recording lacks it."""
        return self

    def fields(self) -> list:
        """Status, value and detail in JSON types; Reading(*fields) restores the reading."""
        return list(tuple.__iter__(self))

    def fact(self) -> dict:
        """The shape used in facts: `{status, value}`; Unrecorded adds `why`."""
        return {"status": self.status, "value": self.value}


class Unrecorded(Reading):
    """A reading with status `not_recorded`: any use of its value raises NotRecorded, so it never passes for empty.

    In the facts it also takes the place of a plain value, a list or a whole section: see known().
    """

    @property
    def value(self) -> Any:
        raise NotRecorded(self.detail)

    @property
    def status(self) -> str:
        return NOT_RECORDED

    @property
    def detail(self) -> str | None:
        return tuple.__getitem__(self, 2)

    def told(self) -> Reading:
        raise NotRecorded(self.detail)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotRecorded(self.detail)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Reading):
            return self.status == other.status and self.detail == other.detail
        raise NotRecorded(self.detail)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        raise NotRecorded(self.detail)

    def __iter__(self) -> Any:
        raise NotRecorded(self.detail)

    def __len__(self) -> int:
        raise NotRecorded(self.detail)

    def __bool__(self) -> bool:
        raise NotRecorded(self.detail)

    def __contains__(self, thing: object) -> bool:
        raise NotRecorded(self.detail)

    def __getitem__(self, key: Any) -> Any:
        raise NotRecorded(self.detail)

    def fact(self) -> dict:
        return {"status": NOT_RECORDED, "value": None, "why": self.detail}


class FileReading(Reading):
    """A reading that keeps its file's path, so that the report of an unparsable text can name the file.

    `text` is the file's content if it could not be parsed. It compares like any other reading.
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
        return found if isinstance(found, (FileReading, Unrecorded)) else FileReading.of(self.path, *found)

    def _unparsable(self, why: Exception) -> Reading:
        found = FileReading.of(self.path, *super()._unparsable(why))
        found.text = str(self.value)[:80]
        return found


def ok(value: Any) -> Reading:
    return Reading(OK, value)


def known(ask: Callable[[], Any]) -> Any:
    """Return ask(), or a reading `not_recorded` if that depends on something the recording lacks."""
    try:
        return ask()
    except NotRecorded as why:
        return Reading(NOT_RECORDED, None, str(why))


def settle(asked: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Apply known() to each entry separately."""
    return {name: known(ask) for name, ask in asked.items()}


class LackingError(OSError):
    """The recording lacks the file, or its end; `strerror` is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.ENODATA, reason)


def error_text(error: OSError) -> str:
    """Format an error as `EINVAL (Invalid argument)`, also the kernel's 524, which has no name in user space."""
    if error.errno == ENOTSUPP:
        return "ENOTSUPP (errno 524, operation is not supported)"
    name = errno.errorcode.get(error.errno or 0)
    text = error.strerror or str(error)
    return f"{name} ({text})" if name else text


def from_error(error: OSError) -> Reading:
    """The reading for a failed system call."""
    if isinstance(error, LackingError):
        return Reading(NOT_RECORDED, None, error.strerror)
    return Reading(_STATUS_OF_ERRNO.get(error.errno or 0, UNPARSABLE), None, error_text(error))


def as_facts(thing: Any) -> Any:
    """Convert `thing` to plain JSON types: every Reading becomes `{status, value}`, tuples become lists.

    A number that JSON or the controller cannot hold (infinity, NaN, beyond LARGEST) is `unparsable`, or null.
    """
    if isinstance(thing, Unrecorded):
        return thing.fact()
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

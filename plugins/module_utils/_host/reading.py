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
NOT_RECORDED = "not_recorded"
STATUSES = (OK, ABSENT, DENIED, READ_ONLY, ASLEEP, GONE, PASSED_THROUGH, UNPARSABLE, NOT_RECORDED)

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


class NotRecorded(Exception):
    """What was asked rests on something that a recording does not have; the message says why it has not.

    A live host never raises it. It is no OSError, so that nobody takes it for a file that is missing.
    """


class _Fields(NamedTuple):
    status: str
    value: Any = None
    detail: str | None = None


class Reading(_Fields):
    """One answer: a status of STATUSES, the value (None unless the status is ok) and, where it helps, why."""

    def __new__(cls, status: str, value: Any = None, detail: str | None = None) -> Reading:
        return super().__new__(Unrecorded if status == NOT_RECORDED else cls, status, value, detail)

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
        except NotRecorded as why:
            return Reading(NOT_RECORDED, None, str(why))
        except RecursionError:
            return Reading(UNPARSABLE, None, "it is nested too deep")
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as why:
            return self._unparsable(why)

    def _unparsable(self, why: Exception) -> Reading:
        return Reading(UNPARSABLE, None, f"{self.value!r}: {why}"[:200])

    def told(self) -> Reading:
        """The reading itself; raises NotRecorded where a recording does not have it."""
        return self

    def fields(self) -> list:
        """Status, value and detail in JSON types, of which Reading(*fields) makes it again."""
        return list(tuple.__iter__(self))

    def fact(self) -> dict:
        """The shape that facts use: `{status, value}`; Unrecorded has `why` as well."""
        return {"status": self.status, "value": self.value}


class Unrecorded(Reading):
    """A reading `not_recorded`: whoever uses its value, as if it were nothing or an empty list, gets NotRecorded.

    It stands in the facts for a plain value too, for a list or a whole section: see known().
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
        return found if isinstance(found, (FileReading, Unrecorded)) else FileReading.of(self.path, *found)

    def _unparsable(self, why: Exception) -> Reading:
        found = FileReading.of(self.path, *super()._unparsable(why))
        found.text = str(self.value)[:80]
        return found


def ok(value: Any) -> Reading:
    return Reading(OK, value)


def known(ask: Callable[[], Any]) -> Any:
    """What `ask` answers, or a reading `not_recorded` in its place where that rests on what a recording lacks."""
    try:
        return ask()
    except NotRecorded as why:
        return Reading(NOT_RECORDED, None, str(why))


def settle(asked: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """known() of each entry by itself."""
    return {name: known(ask) for name, ask in asked.items()}


class LackingError(OSError):
    """A recording lacks the file, or what lies behind its end; `strerror` is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.ENODATA, reason)


def error_text(error: OSError) -> str:
    """`EINVAL (Invalid argument)`, also for the kernel's 524, which has no name in user space."""
    if error.errno == ENOTSUPP:
        return "ENOTSUPP (errno 524, operation is not supported)"
    name = errno.errorcode.get(error.errno or 0)
    text = error.strerror or str(error)
    return f"{name} ({text})" if name else text


def from_error(error: OSError) -> Reading:
    """The reading that stands for a failed system call."""
    if isinstance(error, LackingError):
        return Reading(NOT_RECORDED, None, error.strerror)
    return Reading(_STATUS_OF_ERRNO.get(error.errno or 0, UNPARSABLE), None, error_text(error))


def as_facts(thing: Any) -> Any:
    """`thing` as plain JSON types: every Reading becomes `{status, value}`, tuples become lists.

    A number that JSON or the controller cannot hold (infinity, none, beyond LARGEST) is `unparsable`, or null.
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

# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Users' YAML: strict loading, and validation by a JSON schema with helpful messages."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import yaml

from .._expressions.errors import CatalogueError, MissingPackage, in_words, kind, nearest
from .._expressions.schema_types import SCHEMAS
from .operators import QUOTE_IT

_SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):
    """Rejects duplicate keys, of which YAML silently takes the last, and keys that are not strings."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _value in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                raise _YamlTrap(f"line {line}: {key_node.value!r} is read as {json.dumps(key, default=str)}, not as "
                                "text: quote it in YAML")
            if key in seen:
                raise _YamlTrap(f"line {line}: the key {key!r} is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


class _YamlTrap(Exception):
    pass


def read_shipped(path: pathlib.Path) -> Any:
    """A file of this collection; the tests validate it by its schema."""
    with path.open(encoding="utf-8") as stream:
        return yaml.load(stream, Loader=_SafeLoader)


def read_variable(given: Any, name: str, empty: Any) -> Any:
    """The data of a variable, which may be the path of a YAML or JSON file with it. ValueError says what is wrong."""
    if not given:
        return empty
    if not isinstance(given, str):
        return given
    try:
        return yaml.load(pathlib.Path(given).expanduser().read_text(encoding="utf-8"), Loader=_SafeLoader) or empty
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name}: cannot read {given}: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{name}: {given} is not YAML: {error}") from error


def read_own(path: pathlib.Path, schema: str) -> Any:
    """A user's file, valid by `schema`; CatalogueError says what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
        document = yaml.load(text, Loader=_Loader)
    except OSError as error:
        raise CatalogueError(str(path), None, None, f"cannot be read: {error.strerror}") from None
    except (_YamlTrap, UnicodeDecodeError) as error:
        raise CatalogueError(str(path), None, None, str(error)) from None
    except yaml.YAMLError as error:
        raise CatalogueError(str(path), None, None, f"is not YAML: {' '.join(str(error).split())}") from None
    validate(document, schema, str(path))
    return document


def validate(document: Any, schema: str, file: str) -> None:
    """CatalogueError for the first thing in `document` that `schema` does not allow."""
    try:
        import jsonschema
    except ImportError:
        raise MissingPackage("jsonschema", f"validate {file}") from None
    validator = jsonschema.Draft202012Validator(json.loads((SCHEMAS / schema).read_text(encoding="utf-8")))
    errors = [_innermost(error) for error in validator.iter_errors(document)]
    if errors:
        # A misspelt key is also a missing key: the former is more helpful.
        first = min(errors, key=lambda error: (error.validator != "additionalProperties",
                                               [str(step) for step in error.absolute_path]))
        raise _as_catalogue_error(first, document, file)


def _innermost(error: Any) -> Any:
    """The error of the oneOf alternative that was meant: the one with an error below it."""
    below = [choice for choice in error.context or () if choice.path or choice.validator == "additionalProperties"]
    return _innermost(below[0]) if below else error


def _as_catalogue_error(error: Any, document: Any, file: str) -> CatalogueError:
    path = [str(step) for step in error.absolute_path]
    check = None
    if isinstance(document, list) and path:
        entry = document[error.absolute_path[0]]
        named = entry.get("id") if isinstance(entry, dict) else None
        check = named if isinstance(named, str) else f"number {int(path[0]) + 1}"
        path = path[1:]
    return CatalogueError(file, check, ".".join(path) or None, _explain(error))


def _explain(error: Any) -> str:
    value, rule = error.instance, error.validator_value
    if error.validator == "additionalProperties":
        unknown = next(name for name in value if name not in error.schema.get("properties", {}))
        return f"unknown key {unknown!r}{nearest(unknown, error.schema.get('properties', {}))}"
    if error.validator == "required":
        return f"the key {next(name for name in rule if name not in value)!r} is missing"
    if error.validator == "dependentRequired":
        key, missing = next((key, name) for key, names in rule.items() if key in value
                            for name in names if name not in value)
        return f"{key!r} also needs the key {missing!r}"
    if isinstance(value, bool):
        return f"{str(value).lower()} is a boolean. {QUOTE_IT}"
    if error.validator == "enum":
        return f"{value!r} is none of {', '.join(map(str, rule))}{nearest(str(value), map(str, rule))}"
    if error.validator == "type":
        return f"{in_words([kind(value)])}, wanted {in_words([rule] if isinstance(rule, str) else rule)}"
    if error.validator in ("oneOf", "anyOf", "not"):
        return _explain_choice(error)
    return error.message


def _explain_choice(error: Any) -> str:
    rule = error.validator_value
    choices = rule.get("anyOf", []) if isinstance(rule, dict) else rule
    keys = [name for choice in choices for name in choice.get("required", [])]
    if not keys:
        return error.message
    if error.validator == "not":
        return f"the key {next(name for name in keys if name in error.instance)!r} is not allowed here"
    return f"exactly one of the keys {', '.join(keys)} is needed"

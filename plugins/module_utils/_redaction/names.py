# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Decide by a setting's name whether its value is a secret: `hf_token`, `inst.vncpassword`, `--api-key`.

The last word of a name decides, as the head of an English compound does: `api_key` is a key, `key_size` is a size.
"""
from __future__ import annotations

import functools
import re

CERTAIN, LIKELY = 2, 1      # LIKELY: depends on the value; `key=0x3` and `token=</s>` are not secrets

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Suffixes that do not change what the word means: `password_in`, `secret0`, `token_value`.
_QUALIFIERS = frozenset((
    "in", "out", "value", "data", "hash", "b", "base", "plain", "text", "string", "encrypted", "old", "new", "current",
    "default", "binary", "prod", "live"))
_CERTAIN_ENDS = (
    "password", "passwords", "passwd", "passphrase", "passcode", "passwort", "secret", "secrets", "credential",
    "credentials", "psk", "apikey", "apikeys", "secretkey", "accesskey", "privatekey", "privkey", "authkey",
    "sharedkey", "masterkey", "encryptionkey", "authtoken", "accesstoken", "bearertoken", "rootpw", "userpw", "adminpw",
    "sshpw")
_LIKELY_WORDS = frozenset((
    "key", "token", "pass", "pwd", "pw", "cookie", "auth", "authorization", "bearer", "sig", "signature", "jwt", "sas",
    "creds", "cred", "wepkey", "hostkey", "sshkey", "sshkeys", "rsakey", "lukskey", "cephkey", "wgkey",
    "encryptkey", "signingkey", "sessionkey"))
_KEYS_OF = frozenset((
    "api", "access", "auth", "secret", "private", "signing", "encryption", "shared", "preshared", "master", "account",
    "ssh"))
_TOKENS_OF = frozenset(("api", "auth", "access", "bearer", "hf", "refresh", "session"))
# Words before `key` and `token` that change its meaning: keys of tables and keyboards, tokens of language models.
_OPEN_KEYS = frozenset((
    "public", "pub", "primary", "foreign", "sort", "partition", "hot", "sysrq", "registry", "index", "lookup", "map",
    "dict", "group", "magic", "any", "routing", "cache", "trusted", "arrow", "function"))
_MODEL_TOKENS = frozenset((
    "first", "next", "last", "output", "input", "per", "each", "bos", "eos", "pad", "unk", "sep", "cls", "stop", "mask",
    "special", "image", "audio", "prompt", "generated", "completion", "total", "num", "max", "min", "draft",
    "speculative"))
_PASSES = ("bypass", "compass", "encompass", "multipass", "firstpass", "onepass", "twopass", "singlepass", "lowpass",
           "highpass", "bandpass", "allpass", "renderpass", "prepass", "underpass", "overpass", "nopass")
_COMMUNITY_OF = frozenset(("snmp", "ro", "rw"))


@functools.lru_cache(maxsize=4096)
def secrecy(name: str) -> int:
    """Return CERTAIN, LIKELY or 0 for the name of a setting, an option or an environment variable."""
    words = [word.lower() for word in _WORD.findall(name)]
    if words[-2:] == ["secret", "id"]:
        return CERTAIN
    while words and (words[-1].isdigit() or words[-1] in _QUALIFIERS):
        words.pop()
    if not words:
        return 0
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last.endswith(_CERTAIN_ENDS):
        return CERTAIN
    if last in ("key", "keys"):
        return _secrecy_of_key(last, before)
    if last in ("token", "tokens"):
        return _secrecy_of_token(last, before)
    if last.endswith("community"):
        return CERTAIN if before in _COMMUNITY_OF or last[:2] in _COMMUNITY_OF else 0
    joined = last.endswith(("token", "cookie")) or (last.endswith("pass") and last not in _PASSES)
    return LIKELY if last in _LIKELY_WORDS or joined else 0


def _secrecy_of_key(last: str, before: str) -> int:
    if before in _KEYS_OF:
        return CERTAIN
    return 0 if last == "keys" or before in _OPEN_KEYS else LIKELY


def _secrecy_of_token(last: str, before: str) -> int:
    if before in _TOKENS_OF:
        return CERTAIN
    return 0 if last == "tokens" or before in _MODEL_TOKENS else LIKELY

# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Decide whether the value of a setting with a secret's name is one, not a switch, path, number or reference."""
from __future__ import annotations

import re

from .names import CERTAIN

MASKED = "masked"       # replaces every secret

_SWITCHES = frozenset((
    "", "0", "1", "y", "n", "yes", "no", "on", "off", "true", "false", "none", "null", "nil", "auto", "default",
    "required", "optional", "enabled", "disabled", "prompt", "ask", "withheld", MASKED))
_REFERENCE = re.compile(r"\$\{\w+\}|\$[A-Z_][A-Z0-9_]*|\$\(.*\)|%\w|%\(\w+\)s|\{\{.*\}\}|<[^<>]*>|\*+|(?:env|file):\S*")
_CREDENTIAL = re.compile(rf"[\w.@-]+[:=]{MASKED}", re.ASCII)     # of systemd: keeps its name
_ROOTS = ("/etc/", "/run/", "/var/", "/root/", "/home/", "/usr/", "/opt/", "/dev/", "/mnt/", "/srv/", "/tmp/", "/boot/",
          "/sys/", "/proc/", "/lib/", "/media/", "/secrets/")
_PATH = re.compile(r"(?:/|\./|\.\./|~/)[\w./@:-]{1,255}", re.ASCII)
_FILE = re.compile(r"[\w./-]{1,200}\.(?:pem|key|crt|cer|pub|txt|json|ya?ml|conf|cfg|env|gpg|asc|p12|pfx|keytab|jwk|bin|"
                   r"safetensors|model|gguf)", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:0x[0-9a-fA-F]{1,16}|\d{1,12}(?:\.\d+)?) ?(?:[munk]?s|min|h|[kKMGT]i?[bB]?|%|x)?",
                     re.ASCII)
# Names of algorithms and authentication methods; a secret of such a form would be weak.
_ALGORITHM = re.compile(r"(?:cephx|krb5[ip]?|sha-?\d+|md5|hmac[-\w]*|aes[-\w]*|rsa\d*|ed25519|ecdsa|basic|digest|"
                        r"bearer|negotiate|gssapi|scram[-\w]*|peer|trust|sys|any|all|both|sae|wpa2?|open)",
                        re.IGNORECASE)
# The registry of NVIDIA's driver has numbers under names of any kind: RMSecBusResetEnable=1.
_DRIVER_KEY = re.compile(r"NVreg_|R[Mm][A-Z]")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,16}")
_LONG = 16              # length from which mixed letters and digits count as a secret
_PIN = 4                # length from which a number after `pass` counts as one


def is_secret(value: str, name: str, secrecy: int) -> bool:
    """Whether the unquoted `value` of a setting whose name has this secrecy must be masked."""
    if value.lower() in _SWITCHES or _REFERENCE.fullmatch(value) or _CREDENTIAL.fullmatch(value):
        return False
    if value.startswith(_ROOTS) and _PATH.fullmatch(value):
        return False
    if _HEXADECIMAL.fullmatch(value) or (_DRIVER_KEY.match(name) and _NUMBER.fullmatch(value)):
        return False
    return True if secrecy == CERTAIN else _likely(value, name.lower())


def _likely(value: str, name: str) -> bool:
    first, _blank, more = value.partition(" ")
    if more and not looks_random(first):
        return False        # a sentence
    if _NUMBER.fullmatch(value):
        # A PIN is a number, but so is a count of tokens or keys.
        return name.endswith(("pass", "pwd", "pw")) and value.isdigit() and len(value) >= _PIN
    if name.endswith(("auth", "authorization", "sig", "signature", "sas")):
        return not _ALGORITHM.fullmatch(value) and (":" in value or looks_random(value))
    if _FILE.fullmatch(value) or _ALGORITHM.fullmatch(value):
        return False
    return looks_random(value) or not _PATH.fullmatch(value)


def looks_random(text: str) -> bool:
    """Whether a word is long and mixes letters and digits, unlike natural words and usual paths."""
    if len(text) < _LONG or not (any(map(str.isdigit, text)) and any(map(str.isalpha, text))):
        return False
    # Base64 may begin with a slash and contain more.
    return not _PATH.fullmatch(text) or ("." not in text and "-" not in text and text.count("/") <= len(text) // 16
                                         and text.lower() != text)

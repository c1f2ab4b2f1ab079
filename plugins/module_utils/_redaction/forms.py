# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Secrets recognisable by their own form, or by a syntax other than a name with a value."""
from __future__ import annotations

import re

from .values import MASKED, looks_random

# Prefixes of issuers' tokens.
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[opsur]_[A-Za-z0-9]{20,}|"
    r"github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|"
    r"nvapi-[\w-]{16,}|tskey-[\w-]{10,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{16,}|dop_v1_[0-9a-f]{32,}|"
    r"AGE-SECRET-KEY-1[0-9A-Z]{20,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)")
_HOOK = re.compile(r"(hooks\.slack\.com/services/|/api/webhooks/\d+/|api\.telegram\.org/bot)[^\s\"'/?]+(?:/[\w/-]+)?")
_KEY_BLOCK = re.compile(r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----).*?"
                        r"(-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL)
_CRYPT = re.compile(r"\$(?:1|2[abxy]|5|6|7|y|gy|argon2\w{1,2}|scrypt|apr1|sha1|md5)\$[^\s:\"',;<>]{8,}")
_AUTHORIZATION = re.compile(r"(?i)(\bauthorization[\"']?[ \t]*[:=][ \t]*[\"']?(?:bearer|basic|token|digest)[ \t]+)"
                            r"([^\s\"']+)")
_BEARER = re.compile(r"(?i)\b(bearer|basic|token)( +)([A-Za-z0-9._~+/=-]{8,})")

# scheme://user:password@host, also dracut's iscsi:user:password@host, and user%password of SMB and libiscsi.
_IN_URL = re.compile(r"(?i)((?:\b[a-z][a-z0-9+.-]{0,31}:|(?<![\w/:]))//[^\s/@:%\"'<>]{0,255}[:%])"
                     r"([^\s@/\"'<>]{1,1024})(?=@)")
_IN_ISCSI = re.compile(r"(?i)(\biscsi:[^\s:@\"']{0,255}:)([^\s@\"']{1,1024})(?=@)")
_USER_IN_URL = re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{0,31}://)([^\s/@:\"'<>]{16,1024})(?=@)")
# user:password@host without a scheme; `@` is followed by a host name or an address.
_BARE_LOGIN = re.compile(
    r"(?<![\w/.:@%-])((?!mailto|sips?|ssh|git|xmpp)[\w.+-]{1,64}:)(?!(?:vm|base|subvol|basevol)-\d)"
    r"([^\s@/:\"'<>=,;()]{1,256})(?=@(?!sha\d+:|[0-9a-fA-F]+(?![\w.-]))[A-Za-z0-9\[])")

# man 7 systemd.system-credentials, man 5 systemd.exec: the name is public, the value after it is not.
_CREDENTIAL = re.compile(r"(?i)((?:systemd\.set_credential(?:_binary)?|SetCredential(?:Encrypted)?)=[\"']?[\w.@-]+:)"
                         r"([^\s\0\"']+)")
_SMBIOS = re.compile(r"(?i)(io\.systemd\.credential(?:\.binary)?:[\w.@-]+=)([^\s\0\"',]+)")
_NETRC = re.compile(r"(\blogin[ \t]+\S+[ \t\n]+(?:password|passwd)[ \t]+)(\S+)")
_PROXY_USER = re.compile(r"((?<![\w-])--proxy-user[ \t=]+[\"']?[^\s:\"']{1,255}:)([^\s\"']+)")
# Programs with an unspecific option that takes a secret, and QEMU's -object secret,id=...,data=...
_COMMANDS = tuple((hints, re.compile(rf"\b(?:{programs})\b[^\n\0]*"), re.compile(option))
                  for hints, programs, option in (
    (("secret,",), r"secret(?=,)", r"(,data=)([^,\s\"']+)"),
    (("sshpass",), r"sshpass", r"([ \t]-p[ \t]*[\"']?)([^\s\"'-][^\s\"']*)"),
    (("ipmi",), r"ipmitool|ipmi-\w+", r"([ \t]-[Pp][ \t]*[\"']?)([^\s\"'-][^\s\"']*)"),
    (("redis-cli",), r"redis-cli", r"([ \t]-a[ \t]*[\"']?)([^\s\"'-][^\s\"']*)"),
    (("ldap",), r"ldap(?:add|modify|search|whoami|passwd|delete)", r"([ \t]-w[ \t]*[\"']?)([^\s\"'-][^\s\"']*)"),
    (("mysql", "mariadb"), r"mysql(?:dump|admin)?|mariadb(?:-dump|-admin)?", r"([ \t]-p[\"']?)([^\s\"'-][^\s\"']*)"),
    (("curl", "wget", "http"), r"curl|wget|httpie|https?(?=[ \t])",
     r"([ \t](?:-u|-U|--user|-a|--auth)[ \t=]*[\"']?[^\s:\"']{1,255}:)([^\s\"']+)"),
    (("smbclient", "mount.cifs"), r"smbclient|mount\.cifs",
     r"([ \t](?:-U|--user)[ \t=]*[\"']?[^\s%\"']{1,255}%)([^\s\"']+)"),
))


def _mask_second(found: re.Match) -> str:
    return f"{found[1]}{MASKED}"


def _mask_random_user(found: re.Match) -> str:
    return f"{found[1]}{MASKED}" if looks_random(found[2]) else found[0]


def _mask_bearer(found: re.Match) -> str:
    return f"{found[1]}{found[2]}{MASKED}" if looks_random(found[3]) else found[0]


# Each form with lower-case hints, one of which occurs in every text that has it; most texts contain none.
_FORMS = (
    (("private key",), _KEY_BLOCK, rf"\1{MASKED}\2"),
    (("credential",), _CREDENTIAL, _mask_second),
    (("io.systemd.credential",), _SMBIOS, _mask_second),
    (("login",), _NETRC, _mask_second),
    (("iscsi:",), _IN_ISCSI, _mask_second),
    (("@",), _IN_URL, _mask_second),
    (("--proxy-user",), _PROXY_USER, _mask_second),
    (("authorization",), _AUTHORIZATION, _mask_second),
    (("@",), _USER_IN_URL, _mask_random_user),
    (("@",), _BARE_LOGIN, _mask_second),
    (("bearer ", "basic ", "token "), _BEARER, _mask_bearer),
    (("hooks.slack.com", "/api/webhooks/", "api.telegram.org"), _HOOK, rf"\1{MASKED}"),
    (("hf_", "sk-", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "akia", "asia", "aiza",
      "nvapi-", "tskey-", "npm_", "pypi-", "dop_v1_", "age-secret", "eyj"), _TOKEN, MASKED),
    (("$",), _CRYPT, MASKED),
)
HINTS_OF_FORMS = tuple(dict.fromkeys(
    hint for hints in (*(form[0] for form in _FORMS), *(command[0] for command in _COMMANDS)) for hint in hints))


def mask_forms(text: str) -> str:
    lower = text.lower()
    for hints, pattern, replacement in _FORMS:
        if any(hint in lower for hint in hints):
            text = pattern.sub(replacement, text)
    for hints, command, option in _COMMANDS:
        if any(hint in lower for hint in hints):
            text = command.sub(lambda found, option=option: option.sub(_mask_second, found[0]), text)
    return text

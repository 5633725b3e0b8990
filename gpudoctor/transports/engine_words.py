"""Why an engine did not do what was asked, in plain words, out of the errors of four packages.

Python's own spelling of an error (class names, tuples, quotes) never gets into a message.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import ssl
from collections.abc import Iterator
from typing import Any

SILENT = "silent"  # no answer within the limit
MISDIRECTED = "misdirected"  # the context or connection that was chosen leads to no engine
_NOT_FOUND, _UNAUTHORISED = 404, (401, 403)
_NO_SPACE = "no space left on device"
_BAD_NAME = "invalid reference format"
_NOT_ALLOWED = ("unauthorized", "denied", "no basic auth credentials")
_ANSWER_CHARACTERS = 200
_TIMED_OUT = "timed out"
# what the package says of the user's own settings, and what they are called where he sets them
_CERTIFICATES = ("TLS is asked for, and the folder that DOCKER_CERT_PATH names (else ~/.docker) lacks "
                 "ca.pem, cert.pem or key.pem")
_HUNG_UP = "the connection ended without an answer"
_OF_PYTHON = re.compile(
    r"^\w*(?:Error|Exception)\((?=['\"])|<[\w.]+ object at 0x[0-9a-f]+>: |\[Errno -?[0-9]+\] ")
_OF_OPENSSL = re.compile(r"\[SSL: (\w+)\] ([^(]+?)(?: \(_ssl\.c:[0-9]+\))?\Z")


def of_answer(error: Any) -> tuple[str, str]:
    """Return the kind and the words of an answer with a status of failure (`docker.errors.APIError`)."""
    response = error.response
    status = getattr(response, "status_code", None)
    said = str(error.explanation or "").strip()
    said = said or f"it answers with status {status} {getattr(response, 'reason', '')}"
    if status == _NOT_FOUND:
        return "not-found", said
    if is_no_space(said):
        return "no-space", said
    if _BAD_NAME in said:
        return "bad-name", said
    return "unauthorised" if status in _UNAUTHORISED else "refused", said


def is_no_space(said: str) -> bool:
    """Say whether a disk is full, which no status tells."""
    return _NO_SPACE in said.lower()


def is_unauthorised(said: str) -> bool:
    """Say whether a registry refuses this user, which the engine passes on with a status of its own."""
    return any(word in said.lower() for word in _NOT_ALLOWED)


def of_failure(error: BaseException, address: str, timeout_seconds: float) -> tuple[str, str]:
    """Return the kind and the words of a failure on the way to the engine, by the system's error within."""
    found = list(_within(error))
    for one in found:
        if isinstance(one, PermissionError) or getattr(one, "errno", None) == errno.EACCES:
            return "denied", f"{address}: {os.strerror(errno.EACCES)}"
        if isinstance(one, TimeoutError) or _TIMED_OUT in str(one).lower():
            return SILENT, f"no answer within {timeout_seconds:g} s"
    return "unreachable", f"{address}: {_reason(found)}" if address else _reason(found)


def _reason(found: list[BaseException]) -> str:
    """Return what the most telling of the errors says."""
    for one in found:
        if type(one).__name__ == "TLSParameterError":
            return _CERTIFICATES
    for one in found:
        if isinstance(one, ssl.SSLError):
            return f"the connection by TLS fails ({_of_tls(one)})"
    for one in found:
        if isinstance(one, OSError) and type(one).__name__ == "gaierror":
            return f"its name leads to no address ({one.strerror})"
    for one in found:
        number = getattr(one, "errno", None)
        if isinstance(one, OSError) and isinstance(number, int) and one.strerror:
            return one.strerror
    return next((said for one in found if (said := _of_kind(one))), _plain(str(found[-1])) or _HUNG_UP)


def _of_kind(error: BaseException) -> str:
    """Return what is told by the kind of an error alone, "" where its own words tell more."""
    if isinstance(error, ConnectionError | EOFError):
        return _HUNG_UP
    response: Any = getattr(error, "response", None)
    if response is not None:
        said = f"status {response.status_code}", str(response.text).strip()[:_ANSWER_CHARACTERS]
        return f"what answers there is no container engine ({': '.join(filter(None, said))})"
    if isinstance(error, json.JSONDecodeError | http.client.HTTPException | LookupError | TypeError):
        return "what answers there is no container engine"
    if isinstance(error, NameError):  # which the package raises for ssh:// where that is missing
        return "over ssh it takes the Python package paramiko: pip install 'docker[ssh]'"
    return ""


def _of_tls(error: ssl.SSLError) -> str:
    """Return OpenSSL's words: of a certificate what is wrong with it, else what was said."""
    of_certificate = getattr(error, "verify_message", "")
    if of_certificate:
        return str(of_certificate)
    match = _OF_OPENSSL.search(str(error))
    return match[2].strip() if match else str(error.strerror or error.reason or "no reason is given")


def _plain(text: str) -> str:
    """Return an error's words without Python's own spelling."""
    shorter = _OF_PYTHON.sub("", text)
    return shorter if shorter == text else shorter.rstrip("()'\", ")


def _within(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it was made of, each once, the outermost first."""
    pending, seen = [error], set[int]()
    while pending:
        one = pending.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = (*one.args, getattr(one, "reason", None), one.__cause__, one.__context__)
        pending += [cause for cause in inner if isinstance(cause, BaseException)]

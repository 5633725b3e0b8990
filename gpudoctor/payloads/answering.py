"""Read what a collector is asked and write its answer, as JSON but without the json module: that brings `re`.

Importing it takes as long as asking a library that is not there, and a child that asks a library reads none.
"""

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

try:
    from _json import encode_basestring_ascii as _text
except ImportError:  # an interpreter without CPython's accelerator
    from json.encoder import encode_basestring_ascii as _text

_WORDS = {None: "null", True: "true", False: "false"}
_ENDLESS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def limit_alone(words: "List[str]") -> "Optional[Dict[str, Any]]":
    """Return a request that is a mere number, the limit, or nothing; None where it takes json to read it."""
    if not words:
        return {}
    try:
        return {"answer_within_seconds": float(words[0])}
    except ValueError:
        return None


def dumps(value: "Any") -> str:
    """Return `value` as json.dumps does; what JSON has no word for is written as its text."""
    try:
        return _written(value)
    except RecursionError:  # the patient may have lowered the limit; json counts its levels elsewhere
        import json

        return json.dumps(value, default=str)


def _written(value: "Any") -> str:
    if value is None or value is True or value is False:
        return _WORDS[value]
    if isinstance(value, str):
        return str(_text(value))
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return _ENDLESS.get(repr(value)) or float.__repr__(value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join(["%s: %s" % (_key(key), _written(one)) for key, one in value.items()])
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join([_written(one) for one in value])
    return str(_text(str(value)))


def _key(key: "Any") -> str:
    return str(_text(key if isinstance(key, str) else _written(key)))


def still(value: "Any") -> "Any":
    """Return a copy that no other thread writes to; what JSON has no word for as its text.

    Raises RuntimeError where a dictionary grew meanwhile.
    """
    if isinstance(value, dict):
        return {key if isinstance(key, str) else dumps(key): still(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [still(one) for one in value]
    return value if value is None or isinstance(value, (str, int, float)) else str(value)

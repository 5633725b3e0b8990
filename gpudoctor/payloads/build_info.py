"""Read the constants of a small generated Python file without running it.

Frameworks write down what they were built for in such files: plain assignments (torch, Paddle, TensorFlow
before 2.3), annotated ones (torch since 2.6), or one dictionary, bare or in an OrderedDict (TensorFlow).
"""

import ast

from . import files

TYPE_CHECKING = False  # importing typing takes longer than most collectors
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

SOURCE_BYTES_LIMIT = 1 << 15
NESTING_LIMIT = 40
TEXT_LIMIT = 300
ITEMS_LIMIT = 200
NUMBER_LIMIT = 1 << 53
_OPENING, _CLOSING = "([{", ")]}"
_PREFIXES = "-+~"


def read(path: str) -> "Dict[str, Any]":
    """Return {"path", "values": {name: constant}}, or {"path", "missing": True} or {"path", "error": why}."""
    answer = files.read_text(path, SOURCE_BYTES_LIMIT)
    if "text" not in answer:
        return dict(answer, path=path)
    if len(answer["text"]) >= SOURCE_BYTES_LIMIT:
        return {"path": path, "error": "longer than %d bytes" % SOURCE_BYTES_LIMIT}
    try:
        return {"path": path, "values": constants(answer["text"])}
    except Exception as problem:  # noqa: BLE001 - a stranger's file: ast may fail in more ways than SyntaxError
        return {"path": path, "error": "%s: %s" % (type(problem).__name__, problem)}


def constants(source: str) -> "Dict[str, Any]":
    """Return the module-level constants of `source`; the entries of `build_info` count as constants."""
    if _is_deep(source):
        raise ValueError("nested too deeply to be what a build writes")
    found: Dict[str, Any] = {}
    for statement in ast.parse(source).body:
        name, value = _assignment(statement)
        if name is None or len(found) >= ITEMS_LIMIT:
            continue
        if name == "build_info" and isinstance(value, dict):
            found.update({str(key): plain(item) for key, item in list(value.items())[:ITEMS_LIMIT]})
        else:
            found[name] = plain(value)
    return found


def _is_deep(source: str) -> bool:
    """Return whether parsing could exhaust the stack: old parsers crash on that instead of raising."""
    depth = run = 0
    for character in source:
        depth += (character in _OPENING) - (character in _CLOSING)
        run = run + 1 if character in _PREFIXES else 0
        if depth > NESTING_LIMIT or run > NESTING_LIMIT:
            return True
    return False


def _assignment(statement: ast.stmt) -> "Any":
    """Return (name, value) of `name = constant`, with or without annotation, else (None, None)."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: Any = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return None, None
    value = _constant(statement.value)
    if not isinstance(target, ast.Name) or value is _NO_CONSTANT:
        return None, None
    return target.id, value


_NO_CONSTANT = object()


def _constant(node: "Optional[ast.AST]") -> "Any":
    """Evaluate a literal, or OrderedDict(literal) and dict(literal)."""
    try:
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            function = getattr(node.func, "attr", getattr(node.func, "id", None))
            if function not in ("OrderedDict", "dict"):
                return _NO_CONSTANT
            return dict(ast.literal_eval(node.args[0]))
        return ast.literal_eval(node)  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return _NO_CONSTANT


def plain(value: "Any") -> "Any":
    """Return `value` as JSON can hold it: None, flags, numbers, short text, or a list of these."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if abs(value) < NUMBER_LIMIT else None
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value[:ITEMS_LIMIT] if not isinstance(item, (list, tuple, dict, set))]
    return str(value)[:TEXT_LIMIT]

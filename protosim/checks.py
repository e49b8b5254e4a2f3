"""The named checks of a protocol: each keyword of its `holds(...)`."""

import ast


def names(source: str) -> list[str]:
    """Those of a module's text, each once, in its order."""
    return list(conditions(source))


def conditions(source: str) -> dict[str, str]:
    """What each demands, as it is written, on one line: {"vote_granted": "m.granted"}."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    held = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "holds"]
    held.sort(key=lambda call: (call.lineno, call.col_offset))
    found: dict[str, str] = {}
    for keyword in (keyword for call in held for keyword in call.keywords if keyword.arg is not None):
        found.setdefault(str(keyword.arg), " ".join((ast.get_source_segment(source, keyword.value) or "").split()))
    return found

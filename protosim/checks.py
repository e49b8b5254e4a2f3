"""The named checks of a protocol: each keyword of its `holds(...)`."""

import ast


def names(source: str) -> list[str]:
    """Those of a module's text, each once, in its order."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    held = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "holds"]
    held.sort(key=lambda call: (call.lineno, call.col_offset))
    return list(dict.fromkeys(keyword.arg for call in held for keyword in call.keywords if keyword.arg is not None))

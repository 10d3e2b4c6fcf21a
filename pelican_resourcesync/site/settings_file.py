"""A settings file: what it says, read without running it.

Code of the past is never run: assignments of plain values at the top of the file are all that is understood, which is
nearly all that settings files hold.
"""

import ast
import posixpath
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pelican.settings import DEFAULT_CONFIG


class _NotPlainError(Exception):
    """An expression whose value is not known without running it."""


@dataclass(slots=True)
class Said:
    """What a settings file says: the plain `values` that it assigns.

    `unclear` are the names to which it gives a value that is not known without running it. A file that is not `whole`
    may say something of any other name too.
    """

    values: dict[str, Any] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    whole: bool = True

    def knows(self, name: str) -> bool:
        """Tell whether it is clear what the file says of `name`: a value, or nothing."""
        return name in self.values or (self.whole and name not in self.unclear)

    def value(self, name: str) -> Any:
        """Give the value of `name`: Pelican's default where the file says nothing of it."""
        return self.values.get(name, DEFAULT_CONFIG.get(name))

    def forget(self, names: Iterable[str]) -> None:
        """Take note that `names` have other values now, which are not known."""
        for name in names:
            self.values.pop(name, None)
            self.unclear.add(name)

    def assign(self, names: Iterable[str], value: Any) -> None:
        """Take note that `names` have this value now."""
        for name in names:
            self.values[name] = value
            self.unclear.discard(name)


def read_settings_files(files: Mapping[str, bytes]) -> dict[str, Said]:
    """Give what settings files say, by path; one that another imports all of comes before that."""
    said: dict[str, Said] = {}
    begun: set[str] = set()

    def read(path: str) -> Said | None:
        if path in files and path not in begun:
            begun.add(path)
            folder = posixpath.dirname(path)
            said[path] = plain_settings(files[path], lambda module: read(posixpath.join(folder, f"{module}.py")))
        return said.get(path)

    for path in sorted(files):
        read(path)
    return said


def plain_settings(source: bytes, imported: Callable[[str], Said | None] = lambda _: None) -> Said:
    """Give the settings that a settings file assigns as plain values; nothing is known of one that is no Python.

    `imported` says what a module, all of which the file imports, said.
    """
    said = Said()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the past, such as a backslash that escapes nothing
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Said(whole=False)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            _import_all(said, imported(statement.module or "") if not statement.level else None)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            _assign(said, statement)
        else:
            said.forget(_touched(statement))
            said.whole = said.whole and not any(_is_import_of_all(node) for node in ast.walk(statement))
    return said


def _import_all(said: Said, module: Said | None) -> None:
    if module is None:  # it may have changed everything
        said.forget(list(said.values))
        said.whole = False
        return
    said.forget(module.unclear)
    for name, value in module.values.items():
        said.assign([name], value)
    said.whole = said.whole and module.whole


def _is_import_of_all(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"


def _assign(said: Said, statement: ast.Assign | ast.AnnAssign) -> None:
    if statement.value is None:
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    try:
        value = _value(statement.value, said.values)
    except (_NotPlainError, TypeError, ValueError, RecursionError):
        said.forget({*_names(*targets), *_stored(statement)})
        return
    said.forget(_names(*targets))
    said.assign((target.id for target in targets if isinstance(target, ast.Name)), value)


def _touched(statement: ast.stmt) -> set[str]:
    """Give the names that a statement may give other values, or whose values it may change."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name, *_stored(statement)}
    aliases = [node for node in ast.walk(statement) if isinstance(node, ast.alias)]
    return {*_names(statement), *((alias.asname or alias.name).partition(".")[0] for alias in aliases)}


def _names(*nodes: ast.AST) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _stored(statement: ast.stmt) -> set[str]:
    return {
        node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in known:
            raise _NotPlainError
        return known[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        items = [_value(item, known) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {
            _value(key, known): _value(item, known) for key, item in zip(node.keys, node.values, strict=True) if key
        }
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _value(node.left, known) + _value(node.right, known)
    return ast.literal_eval(node)

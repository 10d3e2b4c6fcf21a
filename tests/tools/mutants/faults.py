"""The faults that can be put into a module, found in its syntax tree."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
#: Arguments that change nothing: `zip` is strict as a second guard, and only people read what `repr` returns.
_WITHOUT_EFFECT = {"strict", "repr", "usedforsecurity"}
#: From here on, a constant of a module is a limit or the size of a buffer, and one more makes no difference.
_LARGE = 1_000


@dataclass(frozen=True, order=True)
class Fault:
    """One change of a module: what stands at a place, and what is put there instead.

    `within` is the line that a number or a truth value stands in, which says what it is.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    before: str
    after: str
    within: str = ""

    def apply(self, source: str) -> str:
        """Return the source with the fault in it."""
        lines = [line.encode() for line in source.splitlines(keepends=True)]
        head = b"".join(lines[: self.line - 1]) + lines[self.line - 1][: self.column]
        tail = lines[self.end_line - 1][self.end_column :] + b"".join(lines[self.end_line :])
        return (head + self.after.encode() + tail).decode()

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"

    @property
    def text(self) -> str:
        """The change, in one line."""
        within = f" in: {self.within}" if self.within else ""
        return f"{' '.join(self.before.split())} -> {' '.join(self.after.split())}{within}"


def faults_in(file: Path, path: str) -> list[Fault]:
    """Return all faults that can be put into a module."""
    source = file.read_text("utf-8")
    return sorted({*_Finder(source, path).faults(ast.parse(source))})


class _Finder:
    def __init__(self, source: str, path: str) -> None:
        self._source, self._path = source, path
        self._lines = source.splitlines()

    def faults(self, tree: ast.AST) -> Iterator[Fault]:
        """Yield the faults of a node and of all in it.

        Annotations, messages, docstrings, `no cover`, arguments without effect and large constants get none.
        """
        if "pragma: no cover" in self._line(tree) or (isinstance(tree, ast.keyword) and tree.arg in _WITHOUT_EFFECT):
            return
        yield from self._of(tree)
        for name, value in ast.iter_fields(tree):
            if name in {"annotation", "returns", "decorator_list"} or isinstance(tree, ast.JoinedStr):
                continue
            if isinstance(tree, ast.Module | ast.ClassDef) and name == "body":
                value = [each for each in value if not _is_large_constant(each)]  # noqa: PLW2901 - the same, filtered
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_type_checking(child):
                    yield from self.faults(child)

    def _of(self, node: ast.AST) -> Iterator[Fault]:  # noqa: C901 - one line a kind of fault
        match node:
            case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
                yield self._fault(node, ast.Compare(node.left, [_COMPARISONS[type(operator)]()], node.comparators))
            case ast.BoolOp():
                other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
                yield self._fault(node, ast.BoolOp(other, node.values))
            case ast.UnaryOp(op=ast.Not()):
                yield self._fault(node, node.operand)
            case ast.BinOp() if type(node.op) in _OPERATORS and not _is_text(node):
                yield self._fault(node, ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right))
            case ast.Constant(value=bool()):
                yield self._fault(node, ast.Constant(not node.value))
            case ast.Constant(value=int(number)):
                yield self._fault(node, ast.Constant(number + 1))
            case ast.If() | ast.While() if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                yield self._fault(node.test, ast.UnaryOp(ast.Not(), node.test))
            case ast.Return(value=ast.expr()) if not _is_constant(node.value):
                yield self._fault(node, ast.Return(ast.Constant(None)))
            case ast.Expr(value=ast.Call() | ast.YieldFrom()) | ast.AugAssign() | ast.Raise():
                yield self._fault(node, ast.Pass())
            case ast.Break():
                yield self._fault(node, ast.Continue())
            case ast.Continue():
                yield self._fault(node, ast.Break())

    def _line(self, node: ast.AST) -> str:
        return self._lines[node.lineno - 1] if isinstance(node, ast.stmt | ast.expr) else ""

    def _fault(self, node: ast.stmt | ast.expr, other: ast.AST) -> Fault:
        text = ast.unparse(ast.fix_missing_locations(other))
        before = ast.get_source_segment(self._source, node) or ""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        after = f"({text})" if isinstance(other, ast.expr) else text
        within = " ".join(self._line(node).split()) if isinstance(node, ast.Constant) else ""
        return Fault(
            self._path, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, before, after, within
        )


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(each, ast.JoinedStr) or isinstance(getattr(each, "value", None), str | bytes) for each in sides
    )


def _is_constant(node: ast.expr | None) -> bool:
    """Return whether a value is None, or True or False: the other one of these is tried instead."""
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _is_large_constant(node: ast.stmt) -> bool:
    """Return whether a statement sets a name to a number that is as good as the next one."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, int) and value.value >= _LARGE


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"

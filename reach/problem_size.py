"""How much memory a problem's inputs take, read from its text without running it.

`get_inputs` of a KernelBench-format file is a list of torch calls over module constants. Those
calls are added up; where one cannot be read, the size is unknown rather than guessed.
"""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
INDEX_BYTES = 8  # torch.randint and torch.randperm give int64
_DRAWN = frozenset({"rand", "randn", "zeros", "ones", "empty", "full"})
_SAME_SIZE = frozenset({"triu", "tril", "softmax", "log_softmax", "sign", "abs"})
_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a / b,
}
# Each worker holds the inputs, its output and what lies between; a float64 copy comes on top.
ROOM = 4


class _Unreadable(Exception):
    """An expression whose value the text alone does not give."""


def _value(node: ast.expr, names: dict[str, object]) -> object:
    """The number, or tuple of numbers, that an expression of constants stands for."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Tuple | ast.List):
        items: list[object] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = _value(element.value, names)
                items.extend(inner if isinstance(inner, tuple) else [inner])
            else:
                items.append(_value(element, names))
        return tuple(items)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, names), _value(node.right, names)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)) and right != 0:
            return _OPERATORS[type(node.op)](left, right)
    raise _Unreadable(ast.dump(node))


def _assigned(body: list[ast.stmt], names: dict[str, object]) -> None:
    """Adds the constants that `body` assigns to `names`."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    names[name] = _value(value, names)
                except _Unreadable:
                    names.pop(name, None)


def _elements(arguments: Sequence[ast.expr], names: dict[str, object]) -> int:
    """The number of elements of a shape given as numbers, as one tuple, or starred."""
    shape = _value(ast.Tuple(elts=list(arguments), ctx=ast.Load()), names)
    flat = [n for part in shape for n in (part if isinstance(part, tuple) else (part,))]  # type: ignore[union-attr]
    if not arguments or not all(isinstance(n, int) for n in flat):
        raise _Unreadable("shape")
    return math.prod(flat)


def input_bytes(source: str, precision: str) -> int | None:
    """Bytes of everything that `get_inputs` draws, or None where the text does not say.

    Floating-point inputs count at `precision` (fp32, bf16, fp16), indices as int64.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: dict[str, object] = {}
    _assigned(tree.body, names)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "get_inputs"]
    if len(functions) != 1:
        return None
    _assigned(functions[0].body, names)
    total = 0
    try:
        for node in ast.walk(functions[0]):
            match node:
                case ast.For() | ast.While() | ast.ListComp() | ast.GeneratorExp():
                    return None  # how often it draws is not in the text
                case ast.Call(func=ast.Name()):
                    return None  # a helper of the file draws
                case ast.Compare() | ast.Call(func=ast.Attribute(attr="bool" | "to")):
                    return None  # changes the type of what is drawn
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="torch"), attr=drawn), args=args
                ):
                    if drawn in _DRAWN:
                        shape = args[:1] if drawn == "full" else args
                        total += _elements(shape, names) * BYTES[precision]
                    elif drawn == "randint":
                        shape = [a for a in args if isinstance(a, ast.Tuple | ast.List)]
                        total += _elements(shape, names) * INDEX_BYTES
                    elif drawn == "randperm":
                        total += _elements(args, names) * INDEX_BYTES
                    elif drawn not in _SAME_SIZE:
                        return None
    except _Unreadable:
        return None
    return total or None


def file_input_bytes(path: Path, precision: str) -> int | None:
    """`input_bytes` of a problem file. Raises OSError where it cannot be read."""
    return input_bytes(path.read_text("utf-8", errors="replace"), precision)


def free_bytes() -> int:
    """Memory that new processes can have on this machine now, in bytes."""
    try:
        for line in Path("/proc/meminfo").read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: the machine's whole memory is the best that can be said
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def fits(size: int | None, free: int) -> bool | None:
    """Whether a grading with inputs of `size` bytes has room; None where the size is unknown."""
    return None if size is None else size * ROOM <= free


def in_words(size: int) -> str:
    """Bytes as people read them: 6.4 GB, 12 MB."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            number = size / scale
            return f"{number:.1f}\u00a0{unit}" if number < 10 else f"{number:.0f}\u00a0{unit}"
    return f"{size}\u00a0bytes"


def memory_sentence(size: int | None, free: int) -> str:
    """What to expect of grading on this machine's CPU."""
    have = f"{in_words(free)} are free here"
    if size is None:
        return f"How much memory its inputs take cannot be read from the file; {have}."
    need = f"Its inputs alone take {in_words(size)}"
    if size > free:
        return f"{need} and {have}: it does not fit."
    if not fits(size, free):
        return f"{need} and {have}; grading holds several copies, so it may run out of memory."
    return f"{need} and {have}: it fits."


def fitting_sentence(sizes: Mapping[str, int | None], free: int) -> str:
    """How many of the shipped problems fit on this machine's CPU."""
    known = [value for value in sizes.values() if value is not None]
    room = sum(bool(fits(value, free)) for value in known)
    return f"{room} of the {len(known)} problems whose size is known fit here."

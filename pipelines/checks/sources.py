"""The user's modules, as their files tell of them: nothing is imported."""

import ast
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path


def found(module: str) -> ModuleSpec | None:
    """A module's spec. Packages above it are found, not imported, as importlib.util.find_spec would."""
    path: list[str] | None = None
    spec: ModuleSpec | None = None
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        spec = next((one for finder in sys.meta_path if (one := finder.find_spec(name, path))), None)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or [])
    return spec


def read(file: str) -> ast.Module:
    """Raises SyntaxError."""
    return ast.parse(Path(file).read_bytes(), file)


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and package of what a module imports whatever happens."""
    for node in tree.body:
        match node:
            case ast.Import(names=aliases):
                modules = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case _:
                continue
        for package in dict.fromkeys(name.partition(".")[0] for name in modules):
            yield node.lineno, package


def bound(tree: ast.Module) -> set[str]:
    """The names that a module gives a meaning to; `*` where it imports all of another's."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
    return names


def methods(text: str, of: tuple[str, ...] = ()) -> set[str] | None:
    """What a class, `module:name`, and the classes that it derives from define. None: not all of it can be read.

    `of`: the classes whose methods are looked for, as far as that has come.
    """
    module, _, name = text.partition(":")
    spec = found(module)
    if text in of or spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    try:
        tree = read(spec.origin)
    except (OSError, SyntaxError):
        return None
    for node in reversed(tree.body):
        match node:
            case ast.ClassDef() if node.name == name:
                return _of_class(node, module, (*of, text))
            case ast.ImportFrom(module=str(source), level=0, names=aliases):
                for alias in aliases:
                    if (alias.asname or alias.name) == name:
                        return methods(f"{source}:{alias.name}", (*of, text))
    return None


def _of_class(node: ast.ClassDef, module: str, of: tuple[str, ...]) -> set[str] | None:
    defined = _members(node)
    if node.decorator_list or "__getattr__" in defined:
        return None
    for base in node.bases:
        named = base.value if isinstance(base, ast.Subscript) else base
        if not isinstance(named, ast.Name):
            return None
        inherited = set[str]() if named.id == "object" else methods(f"{module}:{named.id}", of)
        if inherited is None:
            return None
        defined |= inherited
    return defined


def _members(node: ast.ClassDef) -> set[str]:
    """What a class defines, and what its methods set of `self`."""
    names = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.If() | ast.Try() | ast.With() | ast.For():
                names |= bound(ast.Module([statement], []))
    return names


def not_called(tree: ast.Module) -> set[str]:
    """The names that a module gives to classes and to constants alone."""
    names: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
                names.add(name)
    return names

"""The shape of the tree: layers, packages, where version checks may live."""

import ast
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE_ROOTS = ("asctrace", "tracer", "lowering", "runtime")
OPTIONAL = {"torch", "torch_npu", "matplotlib"}

# Lowest first: a module imports from its own layer and from those before it. Where names nest,
# the longest match decides.
LAYERS = (
    (
        "asctrace.tracer.language",
        "asctrace.tracer.ops",
        "asctrace.tracer.chip",
        "asctrace.tracer.diagnostics",
        "asctrace.tracer.trace",
        "asctrace.tracer._dump",  # the text form of a trace, for trace.py
    ),
    ("asctrace.tracer",),
    ("asctrace.lowering",),
    ("asctrace.runtime",),
    ("asctrace",),
)


def module_name(path: str) -> str:
    """`tracer/vm/__init__.py` -> `asctrace.tracer.vm`."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(parts if parts[0] == "asctrace" else ["asctrace", *parts])


def layer(module: str) -> int:
    matches = [
        (len(name), index)
        for index, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(name + ".")
    ]
    return max(matches)[1]


def imported(path: str, tree: ast.AST, modules: set[str]) -> Iterator[tuple[int, str]]:
    """Line and module of each import; `from x import y` is `x.y` when that is a module."""
    package = module_name(path)
    if not path.endswith("/__init__.py"):
        package = package.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in modules else base


def layer_violations(sources: dict[str, str]) -> list[str]:
    modules = {module_name(path) for path in sources}
    found = []
    for path, text in sources.items():
        own = module_name(path)
        for line, target in imported(path, ast.parse(text), modules):
            ours = target == "asctrace" or target.startswith("asctrace.")
            if ours and layer(target) > layer(own):
                found.append(f"{path}:{line}: {own} imports {target}")
    return found


def version_checks(sources: dict[str, str]) -> list[str]:
    """Places outside tracer/bytecode that ask for the version of Python."""
    names = {"version_info", "hexversion"}
    found = []
    for path, text in sources.items():
        if path.startswith("tracer/bytecode/"):
            continue
        for node in ast.walk(ast.parse(text)):
            used: set[str] = set()
            if isinstance(node, ast.Attribute):
                used = {node.attr}
            elif isinstance(node, ast.ImportFrom):
                used = {alias.name for alias in node.names}
            if used & names:
                found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    return found


def at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from at_import(node.orelse)
            continue
        yield node
        for inner in ("body", "orelse", "finalbody"):
            yield from at_import(getattr(node, inner, []))
        for handler in getattr(node, "handlers", []):
            yield from at_import(handler.body)


def optional_imports(sources: dict[str, str]) -> list[str]:
    """Imports of optional packages that run when asctrace is imported."""
    found = []
    for path, text in sources.items():
        for node in at_import(ast.parse(text).body):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if any(name.partition(".")[0] in OPTIONAL for name in names):
                found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    return found


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for root in PACKAGE_ROOTS
        for path in sorted((ROOT / root).rglob("*.py"))
    }
    assert "asctrace/__init__.py" in found
    return found


def test_layers(sources: dict[str, str]) -> None:
    assert layer_violations(sources) == []


def test_version_checks_are_in_one_place(sources: dict[str, str]) -> None:
    assert version_checks(sources) == []


def test_optional_packages_are_not_imported_at_module_level(sources: dict[str, str]) -> None:
    assert optional_imports(sources) == []


def test_import_loads_no_optional_package() -> None:
    code = f"import sys, asctrace; print(sorted({OPTIONAL} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_every_package_folder_is_built(sources: dict[str, str]) -> None:
    built = runpy.run_path(str(ROOT / "setup.py"))["find_packages"]()
    folders = {path.rpartition("/")[0] for path in sources}
    assert built == sorted(module_name(folder) for folder in folders)


def test_every_root_is_mapped() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert setuptools["package-dir"] == {module_name(root): root for root in PACKAGE_ROOTS}


@pytest.mark.parametrize(
    ("path", "text", "finding"),
    [
        ("tracer/ops/a.py", "from ..vm.b import f", "asctrace.tracer.vm.b"),
        ("tracer/language/a.py", "from .. import vm", "asctrace.tracer.vm"),
        ("tracer/trace.py", "from .vm import b", "asctrace.tracer.vm.b"),
        ("tracer/a.py", "def f():\n from ..lowering import g", "asctrace.lowering"),
        ("tracer/a.py", "import asctrace", "asctrace"),
        ("tracer/vm/__init__.py", "from ... import cli", "asctrace.cli"),
        ("lowering/a.py", "from ..runtime import jit", "asctrace.runtime"),
        ("runtime/a.py", "from asctrace.cli import main", "asctrace.cli"),
    ],
)
def test_layer_check_finds(path: str, text: str, finding: str) -> None:
    tree = {"tracer/vm/__init__.py": "", "tracer/vm/b.py": "", "asctrace/cli.py": "", path: text}
    line = text.count("\n") + 1
    expected = f"{path}:{line}: {module_name(path)} imports {finding}"
    assert layer_violations(tree) == [expected]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tracer/ops/a.py", "from ..trace import Op\nfrom ..language.b import c"),
        ("tracer/ops/a.py", "from .. import diagnostics\nimport numpy"),
        ("tracer/vm/a.py", "from ..bytecode import decode\nfrom ..ops import b"),
        ("lowering/__init__.py", "from ..tracer.trace import Op\nfrom . import a"),
        ("asctrace/__init__.py", "from .runtime.jit import jit\nfrom .cli import main"),
    ],
)
def test_layer_check_allows(path: str, text: str) -> None:
    assert layer_violations({"tracer/trace.py": "", "tracer/diagnostics.py": "", path: text}) == []


def test_version_check_finds() -> None:
    texts = {
        "tracer/bytecode/a.py": "import sys\nsys.version_info",
        "tracer/vm/a.py": "import sys\nif sys.version_info >= (3, 12): pass",
        "runtime/a.py": "from sys import version_info",
    }
    assert version_checks(texts) == [
        "tracer/vm/a.py:2: sys.version_info",
        "runtime/a.py:1: from sys import version_info",
    ]


def test_optional_import_check_finds() -> None:
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import torch\n"
        "def f():\n    import matplotlib\n"
        "try:\n    import torch.nn\nexcept ImportError:\n    pass\n"
    )
    assert optional_imports({"runtime/a.py": text}) == ["runtime/a.py:7: import torch.nn"]

"""What pyasc and Triton make of the corpus: the same kernels, handed to their compilers.

Runs in an interpreter that has them and needs no device; `docs/generate.py --reference PYTHON`
calls it. A program is rewritten only as far as a port would: import line, decorators on helper
functions, and for Triton loads and stores in place of `get_value` and `set_value`. Prints JSON:
versions, and for each construct whether both compile it. Compiling says nothing about values.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import version
from inspect import Parameter
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

_files = count()


class Port(ast.NodeTransformer):
    """The rewriting that both have in common: helpers of the kernel are decorated as well."""

    imports = ""
    jit = ""

    def port(self, source: str) -> str:
        """The program for the other front end."""
        tree = ast.parse(source)
        for node in tree.body:
            inner = any(
                isinstance(n, ast.FunctionDef) and n.name == "kernel" for n in ast.walk(node)
            )
            if isinstance(node, ast.FunctionDef) and not inner and not node.decorator_list:
                node.decorator_list.append(ast.parse(self.jit, mode="eval").body)
        return f"{self.imports}\n{ast.unparse(self.visit(tree))}\n"

    def visit_Import(self, node: ast.Import) -> Any:
        """The line that imports asctrace goes."""
        return None if node.names[0].name == "asctrace" else node


class ToPyasc(Port):
    """pyasc has the same names."""

    imports = "import asc"
    jit = "asc.jit"


class ToTriton(Port):
    """Triton has pointers in place of tensors in global memory."""

    imports = "import triton\nimport triton.language as tl"
    jit = "triton.jit"

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Names of the module."""
        text = ast.unparse(node)
        names = {
            "asc.jit": "triton.jit",
            "asc.range": "tl.range",
            "asc.static_range": "tl.static_range",
            "asc.ConstExpr": "tl.constexpr",
        }
        return (
            ast.parse(names[text], mode="eval").body if text in names else self.generic_visit(node)
        )

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """`asc.ConstExpr[int]`."""
        if ast.unparse(node.value) == "asc.ConstExpr":
            return self.visit(node.value)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        """Annotations: constants only."""
        text = "" if node.annotation is None else ast.unparse(node.annotation)
        node.annotation = ast.Name("tl.constexpr") if "ConstExpr" in text else None
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        """`gm.set_global_buffer(out)`."""
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".set_global_buffer"):
            target = ast.unparse(call.func).removesuffix(".set_global_buffer")
            return ast.parse(f"{target} = {ast.unparse(call.args[0])}").body[0]
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`gm = asc.GlobalTensor()`."""
        return None if ast.unparse(node.value) == "asc.GlobalTensor()" else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Loads and stores."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("set_value", "get_value"):
            name = {"set_value": "tl.store", "get_value": "tl.load"}[node.func.attr]
            place = f"{ast.unparse(node.func.value)} + ({ast.unparse(node.args[0])})"
            rest = "".join(f", {ast.unparse(a)}" for a in node.args[1:])
            return ast.parse(f"{name}({place}{rest})", mode="eval").body
        return node


def load(folder: str, source: str) -> Any:
    """Import a program from a file: both front ends read source text."""
    path = Path(folder) / f"ported_{next(_files)}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def pyasc(folder: str) -> Callable[[str, tuple[Any, ...], str], None]:
    """A function that compiles a program to Ascend C text, without the toolchain."""
    os.environ |= {"DRY_RUN": "1", "PYASC_COMPILER": sys.executable, "PYASC_LINKER": sys.executable}
    os.environ["PYASC_CACHE_DIR"] = folder
    import_module("asc")
    compiler = import_module("asc.runtime.compiler")
    core_type = import_module("asc.lib.runtime").CoreType.VectorCore

    class TextOnly(compiler.Compiler):
        """Stops where the toolchain would be called."""

        def run_compilation(self, source: str, kernel_args: Any = None) -> Any:
            """The text in place of a binary."""
            return compiler.CompiledKernel(source.encode(), core_type, False, kernel_args)

    import_module("asc.runtime.jit").JITFunction.compiler = TextOnly

    def run(source: str, args: tuple[Any, ...], dtype: str) -> None:
        module = load(folder, ToPyasc().port(source))
        module.kernel[1](np.zeros(16, dtype), *args, always_compile=True)

    return run


def triton(folder: str) -> Callable[[str, tuple[Any, ...], str], None]:
    """A function that compiles a program for a GPU that is not there."""
    module: Any = import_module("triton")
    target = import_module("triton.backends.compiler").GPUTarget("cuda", 80, 32)
    os.environ["TRITON_CACHE_DIR"] = folder

    def run(source: str, args: tuple[Any, ...], dtype: str) -> None:
        kernel = load(folder, ToTriton().port(source)).kernel
        types = {int: "i32", float: "fp32", bool: "i1", str: "", np.uint32: "u32", np.uint64: "u64"}
        types |= {np.int16: "i16"}
        constants: dict[Any, Any] = {}
        out, *rest = kernel.params
        signatures = inspect.signature(kernel.fn).parameters
        signature: dict[str, Any] = {
            out.name: {"int32": "*i32", "int64": "*i64", "float32": "*fp32"}[dtype]
        }
        for parameter in rest:
            name = parameter.name
            if signatures[name].kind is Parameter.VAR_POSITIONAL:
                signature[name] = tuple(types[type(value)] for value in args)
                break
            value, args = (args[0], args[1:]) if args else (parameter.default, ())
            signature[name] = types[type(value)]
            if parameter.is_constexpr:
                signature[name] = "constexpr"
                constants[name] = value
        module.compile(module.compiler.ASTSource(kernel, signature, constants), target=target)

    return run


def tried(run: Callable[..., None], source: str, args: tuple[Any, ...], dtype: str) -> str:
    """Empty if it compiles, else the first words of what was said."""
    try:
        run(source, args, dtype)
    except Exception as problem:
        while problem.__cause__ is not None:
            problem = problem.__cause__  # type: ignore[assignment]
        lines = [
            line for line in f"{type(problem).__name__}: {problem}".splitlines() if line.strip()
        ]
        return lines[0] if len(lines) < 2 else f"{lines[0]} ... {lines[-1]}"
    return ""


def decoded(arg: Any) -> Any:
    """An argument: a NumPy scalar is written as a pair of its dtype and value."""
    return np.dtype(arg[0]).type(arg[1]) if isinstance(arg, list) else arg


def main() -> None:
    """Print the findings for the programs that standard input has as JSON."""
    programs = json.load(sys.stdin)
    found: dict[str, Any] = {"versions": {}}
    for name, tool in (("pyasc", pyasc), ("triton", triton)):
        found["versions"][name] = version(name)
        with redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
            run = tool(folder)
            found[name] = {
                key: tried(run, source, tuple(map(decoded, args)), dtype)
                for key, source, args, dtype in programs
            }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

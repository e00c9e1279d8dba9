"""The front door: every operation, enum and struct is there, and the start stays light."""

import ast
import inspect
import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest

import asctrace as asc
from asctrace.tracer.language import enums, structs
from asctrace.tracer.language.dtypes import ALL
from asctrace.tracer.ops._signatures import of_row
from asctrace.tracer.ops.spec import TABLE, OpFunction

ROOT = Path(__file__).resolve().parent.parent


def test_every_function_of_the_table_is_public() -> None:
    names = [n for n, spec in TABLE.items() if "." not in n and spec.family != "construct"]
    assert "add" in names
    for name in names:
        assert isinstance(getattr(asc, name), OpFunction)
        assert getattr(asc, name).spec is TABLE[name]


def test_every_class_of_the_table_is_public() -> None:
    names = [n for n, spec in TABLE.items() if spec.family == "construct"]
    assert "TPipe" in names
    assert all(isinstance(getattr(asc, name), type) for name in names)


def test_dtypes_enums_and_structs_are_public() -> None:
    public = [t for t in vars(enums).values() if inspect.isclass(t) and issubclass(t, Enum)]
    public += [
        t
        for t in (*map(structs.struct, structs.DECLARED), *vars(structs).values())
        if inspect.isclass(t)
        and issubclass(t, structs.ParamStruct)
        and t not in (structs.ParamStruct, structs.Record)
    ]
    for cls in public:
        if cls.__module__.startswith("asctrace."):
            assert getattr(asc, cls.__name__) is cls
    for dtype in ALL:
        assert dtype.name in ("bool",) or getattr(asc, dtype.name) is dtype


def test_all_is_true() -> None:
    assert len(set(asc.__all__)) == len(asc.__all__)
    assert [name for name in asc.__all__ if not hasattr(asc, name)] == []


def test_start_loads_nothing_heavy() -> None:
    heavy = ("ml_dtypes", "tabulate", "bytecode", "torch", "asctrace.lowering.text")
    code = f"import sys, asctrace; print([m for m in {heavy} if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", ["add", "get_block_idx", "TPipe", "GlobalTensor", "TQue"])
def test_outside_a_kernel(name: str) -> None:
    with pytest.raises(asc.KernelError, match=f"{name} was called outside a kernel") as caught:
        getattr(asc, name)()
    assert caught.value.code == "AT0105"


def test_ranges_iterate_like_python() -> None:
    assert list(asc.range(3)) == [0, 1, 2]
    assert list(asc.static_range(7, 1, -2)) == [7, 5, 3]
    assert len(asc.range(1, 9, 3)) == 3
    assert repr(asc.range(2)) == "asc.range(0, 2, 1)"


def test_ceildiv() -> None:
    assert [asc.ceildiv(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_constexpr_of_a_value_is_the_value() -> None:
    assert asc.ConstExpr(7) == 7


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("set_flag", "(event: HardEvent, event_id: int = 0)"),
        ("get_block_idx", "()"),
        ("printf", "(desc: Any, *params: Any)"),
        ("data_cache_preload", "(src: GlobalTensor, cache_offset: int)"),
        ("cast", "(dst: LocalTensor, src: LocalTensor, round_mode: RoundMode, *args, **kwargs)"),
    ],
)  # fmt: skip
def test_signatures(name: str, shown: str) -> None:
    """Of several overloads there is what they begin with."""
    assert str(inspect.signature(getattr(asc, name))) == shown


def test_overloads_of_a_row() -> None:
    assert [str(one) for one in of_row(TABLE["duplicate"])] == [
        "(dst: LocalTensor, scalar: float, count: int)",
        *(
            f"(dst: LocalTensor, scalar: float, mask: {mask}, repeat_times: int, "
            "dst_block_stride: int, dst_repeat_stride: int, is_set_mask: bool = True)"
            for mask in ("int", "list[int]")
        ),
    ]
    assert str(of_row(TABLE["TQue.free_tensor"])[0]) == "(tensor: LocalTensor)"


def test_the_stub_has_every_overload() -> None:
    """`asctrace/_operations.pyi`, for editors: the functions and structs that tables make."""
    path = ROOT / "asctrace" / "_operations.pyi"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for name in {node.name for node in found}:
        mine = [node for node in found if node.name == name]
        wanted = [list(one.parameters) for one in of_row(getattr(asc, name).spec)]
        names = [[*(a.arg for a in n.args.args), *([n.args.vararg.arg] if n.args.vararg else [])]
                 for n in mine]  # fmt: skip
        assert names == wanted
        assert ast.get_docstring(mine[0], clean=False) == getattr(asc, name).__doc__
    functions = {n for n in asc.__all__ if isinstance(getattr(asc, n), OpFunction)}
    assert {node.name for node in found} == functions
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert classes == set(structs.DECLARED)

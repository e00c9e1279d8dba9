"""`LocalTensorAuto`: where it is placed, what waits for what, and what it refuses."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from tests.race_kit import check_clean, outcome

X = np.arange(256, dtype=np.float32)
HEAD = """\
def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress, n: int, m: int):
    x_gm = asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z)
"""


def make(text: str, **options: Any) -> Any:
    source = HEAD + textwrap.indent(textwrap.dedent(text).strip("\n"), "    ") + "\n"
    linecache.cache["auto_kernel.py"] = (
        len(source), None, source.splitlines(True), "auto_kernel.py",
    )  # fmt: skip
    names: dict[str, Any] = {
        "asc": asc, "f32": asc.float32, "Auto": asc.LocalTensorAuto, "VECIN": asc.TPosition.VECIN,
    }  # fmt: skip
    exec(compile(source, "auto_kernel.py", "exec"), names)
    return names["kernel"]


def lowered(text: str, n: int = 4, m: int = 8) -> Any:
    return asc.jit(make(text)).lower(X, X.copy(), n, m)


def statements(text: str, n: int = 4, m: int = 8) -> list[str]:
    """The kernel's lines behind the five global tensors, without the setup in front."""
    source = lowered(text, n, m).source
    lines = [line.strip() for line in source[source.index("z_gm.SetGlobal") :].split("\n")[1:]]
    return [line.replace("AscendC::", "") for line in lines if line not in ("", "}")]


def clean(text: str, expected: Any, n: int = 4, m: int = 8) -> None:
    check_clean(make(text), (X, np.zeros_like(X), n, m), expected)


def refused(text: str) -> Any:
    with pytest.raises(asc.KernelError) as caught:
        lowered(text)
    (found,) = caught.value.findings
    return found


# -- what waits for what --------------------------------------------------------------------------

_LOOP = """
for i in asc.range(8):
    t = Auto(f32, 32)
    u = Auto(f32, 32)
    asc.data_copy(t, x_gm[i * 32:], 32)
    asc.add(u, t, t, 32)
    asc.data_copy(z_gm[i * 32:], u, 32)
"""


def test_text_of_a_loop() -> None:
    """Each pipe waits for what it needs, and for the iteration before to be done with a tensor."""
    assert statements(_LOOP) == [
        "for (int32_t i = 0; i < 8; ++i) {",
        "LocalTensor<float> t = t_buf.Get<float>(32);",
        "LocalTensor<float> u = u_buf.Get<float>(32);",
        "SetFlag<HardEvent::V_MTE2>(v_mte2);",
        "WaitFlag<HardEvent::V_MTE2>(v_mte2);",
        "DataCopy(t, x_gm[i * 32], 32);",
        "SetFlag<HardEvent::MTE2_V>(mte2_v);",
        "WaitFlag<HardEvent::MTE2_V>(mte2_v);",
        "SetFlag<HardEvent::MTE3_V>(mte3_v);",
        "WaitFlag<HardEvent::MTE3_V>(mte3_v);",
        "Add(u, t, t, 32);",
        "SetFlag<HardEvent::V_MTE3>(v_mte3);",
        "WaitFlag<HardEvent::V_MTE3>(v_mte3);",
        "DataCopy(z_gm[i * 32], u, 32);",
        *(
            f"pipe.ReleaseEventID<HardEvent::{event}>({event.lower()});"
            for event in ("V_MTE2", "MTE2_V", "MTE3_V", "V_MTE3")
        ),
    ]
    clean(_LOOP, 2 * X)


def test_setup() -> None:
    source = lowered(_LOOP).source
    start = source.index("    AscendC::TPipe pipe;")
    lines = [line.strip().replace("AscendC::", "") for line in source[start:].split("\n")]
    assert lines[:9] == [
        "TPipe pipe;",
        "TBuf<TPosition::VECCALC> t_buf;",
        "pipe.InitBuffer(t_buf, 128);",
        "TBuf<TPosition::VECCALC> u_buf;",
        "pipe.InitBuffer(u_buf, 128);",
        *(
            f"const int32_t {event.lower()} = pipe.AllocEventID<HardEvent::{event}>();"
            for event in ("V_MTE2", "MTE2_V", "MTE3_V", "V_MTE3")
        ),
    ]


def test_straight_on_there_is_nothing_to_wait_for_before() -> None:
    text = """
        t = Auto(f32, 256)
        asc.data_copy(t, x_gm, 256)
        asc.add(t, t, t, 256)
        asc.add(t, t, t, 256)
        asc.data_copy(z_gm, t, 256)
    """
    flags = [line.split("<")[0] for line in statements(text) if "Flag" in line or "Add" in line]
    assert flags == ["SetFlag", "WaitFlag", "Add(t, t, t, 256);", "Add(t, t, t, 256);",
                     "SetFlag", "WaitFlag"]  # fmt: skip
    clean(text, 4 * X)


def test_the_scalar_unit() -> None:
    text = """
        t = Auto(f32, 256)
        asc.data_copy(t, x_gm, 256)
        last = t.get_value(255)
        asc.add(t, t, t, 256)
        t.set_value(0, last)
        t[1] = last
        asc.data_copy(z_gm, t, 256)
    """
    flags = [line for line in statements(text) if line.startswith("WaitFlag")]
    assert flags == [
        "WaitFlag<HardEvent::MTE2_S>(mte2_s);",
        "WaitFlag<HardEvent::S_V>(s_v);",
        "WaitFlag<HardEvent::V_S>(v_s);",
        "WaitFlag<HardEvent::S_MTE3>(s_mte3);",
    ]
    clean(text, [255, 255, *(2 * X[2:])])


@pytest.mark.parametrize("n", [0, 3, 4, 9])
def test_branches_and_jumps(n: int) -> None:
    """An arm that does not wait leaves the other's access open; jumps part no set from its wait."""
    text = """
        t = Auto(f32, 32)
        u = Auto(f32, 32)
        for i in asc.range(m):
            asc.data_copy(t, x_gm[i * 32:], 32)
            if i < n:
                asc.add(u, t, t, 32)
            else:
                asc.data_copy(u, t, 32)
            if i == n + 1:
                asc.data_copy(z_gm[i * 32:], t, 32)
                continue
            if i == 6:
                asc.data_copy(z_gm[i * 32:], u, 32)
                break
            asc.data_copy(z_gm[i * 32:], u, 32)
    """
    expected = X.copy()
    expected[: 32 * min(n, 7)] *= 2
    expected[32 * 7 :] = X[32 * 7 :] if n == 6 else 0
    clean(text, expected, n)


def test_tensors_that_change_places() -> None:
    """What a variable may name counts for all of them."""
    text = """
        a = Auto(f32, 32)
        b = Auto(f32, 32)
        asc.data_copy(a, x_gm, 32)
        for i in asc.range(m):
            asc.data_copy(b, x_gm[i * 32:], 32)
            asc.add(b, a, b, 32)
            asc.data_copy(z_gm[i * 32:], a, 32)
            a, b = b, a
    """
    tiles = X.reshape(8, 32)
    out, a = [], tiles[0]
    for tile in tiles:
        out.append(a)
        a = a + tile
    clean(text, np.concatenate(out))


def test_views_and_tensors_that_are_filled_in() -> None:
    text = """
        t = Auto(f32, (8, 32))
        half = t[128:]
        bits = t.reinterpret_cast(asc.int32)
        other = asc.LocalTensor(f32)
        other.set_addr_with_offset(t, 64)
        asc.data_copy(t, x_gm, 256)
        asc.add(half, half, half, 128)
        asc.add(other, other, other, 32)
        asc.data_copy(z_gm, bits.reinterpret_cast(f32), 256)
    """
    expected = X.copy()
    expected[64:96] *= 2
    expected[128:] *= 2
    clean(text, expected)


def test_global_memory_that_is_read_back() -> None:
    """What the kernel writes to an array it reads later, in order, too."""
    text = """
        for i in asc.range(8):
            t = Auto(f32, 32)
            asc.data_copy(t, x_gm[i * 32:], 32)
            asc.add(t, t, t, 32)
            asc.data_copy(z_gm[i * 32:], t, 32)
        u = Auto(f32, 256)
        asc.data_copy(u, z_gm, 256)
        asc.add(u, u, u, 256)
        asc.data_copy(z_gm, u, 256)
    """
    assert "WaitFlag<HardEvent::MTE3_MTE2>(mte3_mte2);" in statements(text)
    clean(text, 4 * X)


def test_queues_keep_their_own_order() -> None:
    text = """
        pipe = asc.TPipe()
        que = asc.TQue(VECIN, 2)
        pipe.init_buffer(que, 2, 128)
        for i in asc.range(8):
            a = que.alloc_tensor(f32)
            asc.data_copy(a, x_gm[i * 32:], 32)
            que.enque(a)
            a = que.deque(f32)
            t = Auto(f32, 32)
            asc.add(t, a, a, 32)
            que.free_tensor(a)
            asc.data_copy(z_gm[i * 32:], t, 32)
    """
    events = {line for line in statements(text) if line.startswith("WaitFlag")}
    assert events == {
        "WaitFlag<HardEvent::MTE3_V>(mte3_v);",
        "WaitFlag<HardEvent::V_MTE3>(v_mte3);",
    }
    assert lowered(text).source.count("TPipe pipe;") == 1
    clean(text, 2 * X)


@pytest.mark.parametrize("event_id", ["0", "n"])
def test_an_event_with_numbers_of_the_kernel_is_left_to_it(event_id: str) -> None:
    text = f"""
        t = Auto(f32, 256)
        asc.set_flag(asc.HardEvent.MTE2_V, {event_id})
        asc.data_copy(t, x_gm, 256)
        asc.add(t, t, t, 256)
        asc.wait_flag(asc.HardEvent.MTE2_V, {event_id})
        asc.data_copy(z_gm, t, 256)
    """
    lines = statements(text)
    assert "PipeBarrier<PIPE_ALL>();" in lines
    assert "WaitFlag<HardEvent::V_MTE3>(v_mte3);" in lines
    clean(text, 2 * X)


def test_ids_of_the_pipe_do_not_meet() -> None:
    text = """
        pipe = asc.TPipe()
        mine = pipe.alloc_event_id(asc.HardEvent.MTE2_V)
        t = Auto(f32, 256)
        asc.set_flag(asc.HardEvent.MTE2_V, mine)
        asc.data_copy(t, x_gm, 256)
        asc.add(t, t, t, 256)
        asc.wait_flag(asc.HardEvent.MTE2_V, mine)
        asc.data_copy(z_gm, t, 256)
        pipe.release_event_id(mine, asc.HardEvent.MTE2_V)
    """
    assert "PipeBarrier<PIPE_ALL>();" not in statements(text)
    clean(text, 2 * X)


def test_ids_run_out() -> None:
    """Half the ids of an event; where nothing says that one is free, all pipes wait."""
    text = """
        for i in asc.static_range(8):
            t = Auto(f32, 32)
            asc.data_copy(t, x_gm[i * 32:], 32)
            asc.add(t, t, t, 32)
            asc.data_copy(z_gm[i * 32:], t, 32)
    """
    lines = statements(text)
    names = [
        line.split("(")[1][:-2] for line in lines if line.startswith("SetFlag<HardEvent::MTE2")
    ]
    ids = ["mte2_v", "mte2_v_1", "mte2_v_2", "mte2_v_3"]
    assert names == [*ids, *ids[:3]]
    assert lines.count("PipeBarrier<PIPE_ALL>();") == 1
    clean(text, 2 * X)


def test_a_barrier_of_the_kernel_counts() -> None:
    text = """
        t = Auto(f32, 256)
        asc.data_copy(t, x_gm, 256)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.add(t, t, t, 256)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(z_gm, t, 256)
    """
    assert not any("Flag" in line for line in statements(text))
    clean(text, 2 * X)


# -- where it is placed ---------------------------------------------------------------------------


def places(text: str) -> list[tuple[str, str, str]]:
    """Name, bytes and address of the rows in the report."""
    lines = lowered(text).report().split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith("buffer ")) + 2
    rows = [line.split() for line in lines[start : lines.index("", start)]]
    return [(row[0], row[-3], row[-2]) for row in rows]


def test_buffers_in_the_report() -> None:
    text = """
        pipe = asc.TPipe()
        que = asc.TQue(VECIN, 2)
        pipe.init_buffer(que, 2, 128)
        t = Auto(f32, 9)
        u = Auto(asc.float16, (4, 32))
        asc.data_copy(t, x_gm, 8)
    """
    assert places(text) == [("t_buf", "64", "0"), ("u_buf", "256", "64"), ("que", "256", "320")]


_TILES = """
for i in asc.static_range(4):
    t = Auto(f32, {size})
    u = Auto(f32, {size})
    asc.data_copy(t, x_gm[i * 32:], 32)
    asc.add(u, t, t, 32)
    asc.data_copy(z_gm[i * 32:], u, 32)
"""


def test_memory_is_shared_when_it_is_short() -> None:
    """Of 16 KB each has a place of its own; of 64 KB those that are never needed at once share."""
    assert [at for *_, at in places(_TILES.format(size=4096))] == [str(k * 16384) for k in range(8)]
    shared = _TILES.format(size=16384)
    assert places(shared) == [("t_buf", "65536", "0"), ("u_buf", "65536", "65536")]
    expected = np.where(np.arange(256) < 128, 2 * X, 0)
    clean(shared, expected)


def test_more_tensors_than_buffers() -> None:
    text = _TILES.format(size=64).replace("range(4)", "range(40)").replace("i * 32", "i % 8 * 32")
    assert len(places(text)) == 2
    clean(text, 2 * X)


def test_tensors_of_different_sizes_share_the_largest() -> None:
    text = """
        if n > 2:
            a = Auto(f32, 8192)
            asc.data_copy(a, x_gm, 256)
            asc.data_copy(z_gm, a, 256)
        b = Auto(f32, 40000)
        asc.data_copy(b, x_gm, 256)
        asc.add(b, b, b, 256)
        asc.data_copy(z_gm, b, 256)
    """
    assert places(text) == [("a_buf", "160000", "0")]
    clean(text, 2 * X)


_KEEPING = """
first = Auto(f32, 20000)
asc.data_copy(first, x_gm, 32)
asc.data_copy(z_gm, first, 32)
view = first[8:]
kept = first
{hold}
for i in asc.range(m):
    t = Auto(f32, 20000)
    u = Auto(f32, 20000)
    asc.data_copy(t, x_gm[i * 32:], 32)
    asc.add(u, t, t, 32)
    asc.data_copy(z_gm[i * 32:], u, 32)
    {inside}
{behind}
"""


@pytest.mark.parametrize(
    ("hold", "inside", "behind"),
    [
        ("", "", "asc.data_copy(z_gm, first, 32)"),
        ("", "", "asc.data_copy(z_gm, view, 24)"),
        ("", "asc.data_copy(z_gm, first, 32)", ""),
        ("if n > 3:\n    kept = view", "asc.data_copy(z_gm, kept, 24)", ""),
    ],
)
def test_a_tensor_that_is_needed_later_does_not_share(hold: str, inside: str, behind: str) -> None:
    found = refused(_KEEPING.format(hold=hold, inside=inside, behind=behind))
    assert (found.code, found.severity) == ("AT0104", "error")
    assert [line.split()[0] for line in found.table.split("\n")[2:]] == [
        "first_buf", "t_buf", "u_buf",
    ]  # fmt: skip
    assert len(places(_KEEPING.format(hold="", inside="", behind=""))) == 2


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("kept = first[0:32]", "kept = u[0:32]"),
        ("kept = asc.LocalTensor(f32)\nkept.set_addr_with_offset(first, 0)",
         "kept.set_addr_with_offset(u, 0)"),
    ],
)  # fmt: skip
def test_a_view_that_the_next_iteration_uses(made: str, kept: str) -> None:
    """`u` is needed until it is read in the next iteration, when `t` has been written."""
    text = f"""
first = Auto(f32, 32)
asc.data_copy(first, x_gm, 32)
{made}
for i in asc.range(m):
    t = Auto(f32, {{size}})
    asc.data_copy(t, x_gm[i * 32:], 32)
    asc.add(t, t, kept, 32)
    asc.data_copy(z_gm[i * 32:], t, 32)
    u = Auto(f32, {{size}})
    asc.data_copy(u, x_gm[i * 32:], 32)
    asc.add(u, u, u, 32)
    {kept}
    v = Auto(f32, {{size}})
    asc.data_copy(v, x_gm, 32)
"""
    tiles = X.reshape(8, 32)
    expected = [tiles[0] + tiles[0], *(tiles[i] + 2 * tiles[i - 1] for i in range(1, 8))]
    clean(text.format(size=64), np.concatenate(expected))
    shared = text.format(size=22000)
    assert [row[0] for row in places(shared)] == ["first_buf", "t_buf", "u_buf"]
    clean(shared, np.concatenate(expected))


def test_over_budget_names_the_tensors() -> None:
    found = refused(_TILES.format(size=32768))
    assert found.code == "AT0104"
    assert found.message.startswith(
        "the buffers in UB take 262144 bytes, Ascend910B1 has 196608: `t_buf` (TBuf in VECCALC) "
        "from auto_kernel.py:7:13 is the largest, 1 x 131072"
    )
    assert found.hint == "tiles of 24576 float32 (98304 bytes) fit"


def test_a_size_known_at_run_time() -> None:
    """It is computed again in front of the loop."""
    text = """
        for i in asc.range(m):
            t = Auto(f32, (n, 8))
            asc.data_copy(t, x_gm[i * n * 8:], n * 8)
            asc.add(t, t, t, n * 8)
            asc.data_copy(z_gm[i * n * 8:], t, n * 8)
    """
    lines = statements(text)
    assert lines[:3] == [
        "TBuf<TPosition::VECCALC> t_buf;",
        "pipe.InitBuffer(t_buf, n * 8 * 4);",
        "for (int32_t i = 0; i < m; ++i) {",
    ]
    assert "LocalTensor<float> t = t_buf.Get<float>(n * 8);" in lines
    assert places(text) == [("t_buf", "?", "0")]
    clean(text, 2 * X)


def test_rows_are_in_the_order_of_the_calls() -> None:
    text = """
        pipe = asc.TPipe()
        one = asc.TQue(VECIN, 1)
        pipe.init_buffer(one, 1, 64)
        if n > 3:
            n = n + 1
        t = Auto(f32, n)
        two = asc.TQue(VECIN, 1)
        pipe.init_buffer(two, 1, 64)
        u = Auto(f32, 8)
        t.set_value(0, 1.0)
        u.set_value(0, 1.0)
    """
    assert places(text) == [
        ("u_buf", "32", "0"), ("one", "64", "32"), ("t_buf", "?", "96"), ("two", "64", "?"),
    ]  # fmt: skip


def test_each_time_it_is_made_it_holds_garbage() -> None:
    text = """
        for i in asc.range(m):
            t = Auto(f32, 32)
            if i == 0:
                asc.data_copy(t, x_gm, 32)
            asc.data_copy(z_gm[i * 32:], t, 32)
    """
    findings, _ = outcome(make(text), (X, np.zeros_like(X), 1, 2), "program", 0)
    assert [(f.code, f.spans[0].line) for f in findings] == [("AT0203", 10)]
    clean(text.replace("if i == 0:", "if i >= 0:"), np.tile(X[:32], 8))


# -- what it refuses ------------------------------------------------------------------------------


_QUEUE = "t = Auto(f32, 32)\nque = asc.TQue(VECIN, {})\nasc.TPipe().init_buffer(que, 1, 128)\n"
_T = "`t` (LocalTensor of float32 in VECCALC) from auto_kernel.py:6:9"
_LOOPING = "for i in asc.range(m):\n    t = Auto(f32, i + 8)\n    t.set_value(0, 1.0)"


@pytest.mark.parametrize(
    ("text", "code", "line", "message"),
    [
        ("Auto(1, 32)", "AT0106", 6, "LocalTensorAuto needs a dtype, not 1"),
        ("Auto(f32, 'a')", "AT0106", 6, "the shape of a LocalTensorAuto is an integer or a tuple"),
        ("Auto(f32, ())", "AT0106", 6, "the shape of a LocalTensorAuto is an integer or a tuple"),
        ("Auto(f32, (4, 0))", "AT0108", 6, "a LocalTensorAuto of shape 4, 0"),
        (
            "t = Auto(f32, 32)\npipe = asc.TPipe()\npipe.reset()", "AT0308", 8,
            "the kernel takes all buffers of its pipe back, and `t` is automatic",
        ),
        (
            "pipe = asc.TPipe()\npipe.destroy()\nt = Auto(f32, 32)", "AT0308", 7,
            "the kernel takes all buffers of its pipe back, and `t` is automatic",
        ),
        (
            "t = Auto(f32, 32)\nif n > 3:\n    pipe = asc.TPipe()", "AT0308", 8,
            "the TPipe is made on some paths only, and `t` is automatic",
        ),
        (
            "t = Auto(f32, 32)\nasc.TPipe()\nasc.TPipe()", "AT0308", 8,
            "there are two TPipes, and `t` is automatic",
        ),
        ("t = Auto(f32, 32)\nu = asc.LocalTensor(f32, VECIN, 0, 32)", "AT0308", 7, "`u` (Local"),
        ("t = Auto(f32, 32)\nu = asc.LocalMemAllocator()", "AT0308", 7, "`u` (LocalMemAllocator"),
        (_LOOPING, "AT0308", 7, "the size of `t` (LocalTensor of float32 in VECCALC) from "),
        (_QUEUE.format(0) + "que.alloc_tensor(t)", "AT0202", 9, f"{_T} is automatic and gets"),
        (
            "t = Auto(f32, 32)\nt.set_addr_with_offset(Auto(f32, 32), 0)", "AT0202", 7,
            f"{_T} is automatic and gets other memory",
        ),
        (
            _QUEUE.format(1) + "que.enque(t)", "AT0202", 9,
            f"enque of {_T}, which belongs to (TBuf in VECCALC)",
        ),
    ],
)  # fmt: skip
def test_refused(text: str, code: str, line: int, message: str) -> None:
    found = refused(text)
    assert (found.code, found.spans[0].line) == (code, line)
    assert found.message.startswith(message)
    assert found.hint


def test_a_size_may_change() -> None:
    text = """
        t = Auto(f32, 256)
        asc.data_copy(t, x_gm, 256)
        t.set_size(128)
        assert t.get_size() == 128
        asc.data_copy(z_gm, t, 128)
    """
    clean(text, np.where(np.arange(256) < 128, X, 0))


def test_a_tensor_that_nothing_uses_takes_memory_all_the_same() -> None:
    assert places("t = Auto(f32, 32)\nz_gm.set_value(0, 1.0)") == [("t_buf", "128", "0")]


def test_what_was_traced_and_dropped_leaves_nothing() -> None:
    """A loop's body is traced more than once."""
    text = """
        total = 0.0
        for i in asc.range(m):
            t = Auto(f32, 32)
            t.set_value(0, total)
            total = t.get_value(0) + 1.0
        z_gm.set_value(0, total)
    """
    assert places(text) == [("t_buf", "128", "0")]
    clean(text, [8.0, *np.zeros(255)])

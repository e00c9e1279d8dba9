"""Chip profiles: names, the files of an installation, what host code asks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.runtime import knobs, soc
from asctrace.tracer.chip import CHIPS, DEFAULT, chip, normal
from tests.cann_kit import Cann

B1 = """\
[version]
SoC_version=Ascend910B1
NpuArch=2201
; a comment
[SoCInfo]
ai_core_cnt=24
cube_core_cnt = 20
vector_core_cnt=40
memory_size=34359738368
[AICoreSpec]
ub_size=0x28000
l0_c_size=131072
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*(knob.name for knob in knobs.ALL), "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    asc.set_platform()
    yield
    asc.set_platform()


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cann:
    made = Cann(tmp_path / "cann")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(made.home))
    return made


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("Ascend910B1", "Ascend910B1"),
        ("ascend910b1", "Ascend910B1"),
        (" Ascend 910B3 ", "Ascend910B3"),
        ("910B2C", "Ascend910B2C"),
        ("Ascend910B4-1", "Ascend910B4"),
        ("ASCEND910_9382", "Ascend910_9382"),
        ("910_9391-2", "Ascend910_9391"),
    ],
)
def test_spellings(spelled: str, name: str) -> None:
    assert CHIPS[normal(spelled)].name == name
    assert chip(spelled) is soc.profile(spelled) is chip(name)


def test_unknown_chip_lists_the_known_ones(made: Cann) -> None:
    with pytest.raises(asc.KernelError) as caught:
        soc.profile("Ascend777")
    assert caught.value.code == "AT0304"
    assert all(row.name in caught.value.findings[0].hint for row in CHIPS.values())


def test_installation_overrides_the_table(made: Cann) -> None:
    made.platform("Ascend910B1", B1)
    found = soc.profile("910b1")
    table = chip("Ascend910B1")
    assert (found.cube_cores, found.vector_cores) == (20, 40)
    assert (table.cube_cores, table.vector_cores) == (24, 48)
    assert found.memory["UB"] == 0x28000
    assert dict(found.memory) == dict(table.memory) | {"UB": 0x28000}
    assert soc.profile("Ascend910B3") is chip("Ascend910B3")


def test_file_that_agrees_gives_the_row_itself(made: Cann) -> None:
    made.platform("Ascend910B1", "[version]\nNpuArch=2201\n[SoCInfo]\nai_core_cnt=24\n")
    assert soc.profile("Ascend910B1") is chip("Ascend910B1")


def test_file_of_a_suffixed_name_is_preferred(made: Cann) -> None:
    made.platform("Ascend910B4", "[SoCInfo]\nvector_core_cnt=40\n")
    made.platform("Ascend910B4-1", "[SoCInfo]\nvector_core_cnt=38\n")
    assert soc.profile("Ascend910B4-1").vector_cores == 38
    assert soc.profile("Ascend910B4-2").vector_cores == 40


def test_chip_that_only_the_installation_knows(made: Cann) -> None:
    made.platform("Ascend910B9", B1)
    found = soc.profile("ascend910b9")
    assert (found.name, found.arch, found.vector_cores) == ("Ascend910B9", "2201", 40)
    assert found.memory["L1"] == chip("Ascend910B1").memory["L1"]


def test_cores_with_both_units(made: Cann) -> None:
    made.platform("Ascend310P3", "[SoCInfo]\nai_core_cnt=6\nvector_core_cnt=7\n")
    found = soc.profile("Ascend310P3")
    assert (found.cube_cores, found.vector_cores) == (6, 6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense\n[SoCInfo]\nvector_core_cnt=40\n", "line 1 is no key=value in a section"),
        ("[SoCInfo]\n=\x00\xff\nvector_core_cnt\n", "line 3 is no key=value"),
        ("[SoCInfo]\nvector_core_cnt=many\n", "line 2: vector_core_cnt=many is no positive number"),
        ("[SoCInfo]\nvector_core_cnt=-4\n", "line 2: vector_core_cnt=-4 is no positive number"),
        ("[version]\nNpuArch=9999\n", "NpuArch=9999 is no known architecture"),
    ],
)
def test_malformed_file_is_a_warning(made: Cann, text: str, words: str) -> None:
    path = made.platform("Ascend910B1", text)
    with pytest.warns(asc.KernelWarning, match=re.escape(words)) as caught:
        found = soc.profile("Ascend910B1")
    warning: Any = caught[0].message
    assert warning.finding.code == "AT0401"
    assert str(path) in warning.finding.message
    assert found.vector_cores == (40 if "=40" in text else 48)
    assert found.memory == chip("Ascend910B1").memory


def test_binary_rubbish_is_no_crash(made: Cann) -> None:
    rng = np.random.default_rng(5)
    path = made.platform("Ascend910B1", "")
    path.write_bytes(b"[SoCInfo]\n" + rng.integers(0, 256, 4096, dtype=np.uint8).tobytes())
    with pytest.warns(asc.KernelWarning, match="is no key=value"):
        assert soc.profile("Ascend910B1").vector_cores == 48


def test_a_changed_file_is_read_again(made: Cann) -> None:
    path = made.platform("Ascend910B1", "[SoCInfo]\nvector_core_cnt=10\n")
    assert soc.profile("Ascend910B1").vector_cores == 10
    made.platform("Ascend910B1", "[SoCInfo]\nvector_core_cnt=12\n")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert soc.profile("Ascend910B1").vector_cores == 12


# -- what host code asks ------------------------------------------------------------------------

SIZES = {
    "UB": asc.ub_size,
    "L1": asc.l1_size,
    "L0A": asc.l0a_size,
    "L0B": asc.l0b_size,
    "L0C": asc.l0c_size,
}


@pytest.mark.parametrize("name", ["Ascend910B1", "Ascend910B4", "Ascend950PR_958b"])
def test_numbers_of_a_chip(name: str) -> None:
    row = chip(name)
    assert asc.core_num(soc=name) == row.vector_cores
    assert asc.core_num("cube", soc=name) == row.cube_cores
    assert {place: size(name) for place, size in SIZES.items()} == {
        place: row.memory[place] for place in SIZES
    }


def test_numbers_of_the_chosen_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asc.current_soc() == DEFAULT
    monkeypatch.setenv("ASCTRACE_SOC", "910B4")
    assert (asc.current_soc(), asc.core_num()) == ("Ascend910B4", 40)
    asc.set_platform(soc="Ascend950PR_958b")
    assert (asc.core_num(), asc.ub_size()) == (64, 253952)


def test_numbers_of_the_chip_that_a_kernel_is_for() -> None:
    def kernel(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, asc.core_num() * 1000 + asc.core_num("cube"))
        gm.set_value(1, asc.ub_size())

    out = np.zeros(16, np.int32)
    for name in ("Ascend910B4", "Ascend950PR_958b"):
        asc.jit(kernel, soc=name, backend="sim")[1](out)
        row = chip(name)
        assert out[:2].tolist() == [row.vector_cores * 1000 + row.cube_cores, row.memory["UB"]]


def test_a_kernel_is_traced_for_the_installed_chip(made: Cann) -> None:
    made.platform("Ascend910B1", B1)

    def kernel(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, asc.core_num())

    out = np.zeros(16, np.int32)
    asc.jit(kernel, backend="sim")[1](out)
    assert out[0] == 40


def test_unknown_kind_of_core() -> None:
    with pytest.raises(ValueError, match="kind 'scalar' is neither 'vector' nor 'cube'"):
        asc.core_num("scalar")

"""Options of the suite.

`--update-golden` writes the golden texts that tests compare with; `--twin` runs the text of every
kernel that is simulated, too, and `--npu` launches it through the stand-ins for a device (see
`tests/twin`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.straight_kit import choice, warm_after
from tests.twin.report import Report

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files instead of comparing"
    )
    parser.addoption(
        "--npu", action="store_true", help="launch each simulated kernel through the stand-ins"
    )
    parser.addoption(
        "--twin", action="store_true", help="compile and run the text of each simulated kernel"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--twin"):
        from tests.twin import compare

        compare.install()
        config.pluginmanager.register(compare.Plugin(), "twin")
    if config.getoption("--npu"):
        from tests.twin import npu

        npu.install()
        report = Report("launches on the stand-in for a device", npu.COUNTS)
        config.pluginmanager.register(report, "npu report")


@pytest.fixture(autouse=True)
def _straight_code(request: pytest.FixtureRequest) -> Iterator[None]:
    """Most kernels of tests are traced once: let many take their straight code for functions."""
    with warm_after(choice(request.node.nodeid)):
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`golden(name, text, form)`: fails unless `tests/golden/name` has the text.

    `form` maps both texts to what has to be equal; the file is rewritten only when that differs.
    """

    def compare(name: str, text: str, form: Callable[[str], str] = str) -> None:
        path = GOLDEN / name
        before = path.read_text() if path.is_file() else None
        if request.config.getoption("--update-golden"):
            if before is None or form(before) != form(text):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return
        assert before is not None, f"no golden file {name}: run pytest --update-golden"
        assert form(text) == form(before)

    return compare

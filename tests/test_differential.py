"""A share of the fuzzer in every run of the suite: the same programs each time."""

from __future__ import annotations

import pytest

from tests.differential import Difference, run_examples

SEED = 20240
EXAMPLES = 200
SECONDS = 10.0


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("kind", ["path", "vm"])
def test_cpython_and_asctrace_agree(kind: str) -> None:
    try:
        ran = run_examples(kind, EXAMPLES, SEED, SECONDS)
    except Difference as difference:
        pytest.fail(
            f"{difference}\n\nrepeat: python tests/fuzz.py --kind {kind} --seed {SEED} "
            f"--examples {EXAMPLES}",
            pytrace=False,
        )
    assert ran >= 20

"""The README shows what is true: its example runs and becomes the text that stands below it."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The one code block of a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)
    assert isinstance(found, str)
    return found


def test_the_kernel_becomes_the_text_below_it() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block("python"), "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue().rstrip("\n") == block("cpp").rstrip("\n")


def test_the_kernel_is_short() -> None:
    kernel = block("python").partition("@asc.jit\n")[2].partition("\n\n\n")[0]
    assert len([line for line in kernel.splitlines() if line.strip()]) <= 25


def test_it_opens_with_the_first_two_commands() -> None:
    commands = README.partition("```\n")[2].partition("```")[0].splitlines()
    assert [line.partition("  ")[0] for line in commands] == ["make demo", "make test"]
    assert README.index("make test") < README.index("## ")


def test_links_lead_to_files() -> None:
    links = re.findall(r"\]\(([\w./-]+\.\w+)\)", README)
    assert len(links) >= 5
    assert [link for link in links if not (ROOT / link).is_file()] == []

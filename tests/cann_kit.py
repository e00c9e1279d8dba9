"""A made-up CANN: the files that asctrace looks for, with stand-ins for the tools."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from tests import cann_standin as standin

_STANDIN = Path(standin.__file__).resolve()
HEADERS = ("compiler/tikcpp/tikcfw/impl", "compiler/tikcpp/tikcfw/interface")


class Cann:
    """An installation below `home`."""

    def __init__(self, home: Path, headers: bool = True, compiler: bool = True) -> None:
        self.home = home
        (home / "bin").mkdir(parents=True)
        (home / "lib64").mkdir()
        (home / "version.cfg").write_text("# version: 1.0\ntoolkit_running_version=[7.7:8.5.0]\n")
        for name in HEADERS if headers else ():
            (home / name).mkdir(parents=True)
        for tool in ("bisheng", "ld.lld") if compiler else ():
            self.tool(tool)

    def tool(self, name: str) -> Path:
        path = self.home / "bin" / name
        words = shlex.join([sys.executable, "-I", "-S", str(_STANDIN)])
        # The root is where the tool lies, so that an installation may be moved.
        path.write_text(f'#!/bin/sh\nexec {words} "${{0%/*}}/.." {name} "$@"\n')
        path.chmod(0o755)
        return path

    def platform(self, soc: str, text: str) -> Path:
        """Write the chip's `platform_config` file."""
        path = self.home / "data" / "platform_config" / f"{soc}.ini"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def order(self, **todo: Any) -> None:
        """What the tools do: `say`, `exit`, `signal`, `sleep`; for `tool`, `when`, `where`."""
        (self.home / "orders.json").write_text(json.dumps(todo))

    def work(self) -> None:
        """Do as told no longer."""
        (self.home / "orders.json").unlink(missing_ok=True)

    def calls(self, tool: str = "") -> list[list[str]]:
        """The arguments of each call so far."""
        path = self.home / "calls.jsonl"
        lines = path.read_text().splitlines() if path.is_file() else []
        calls = [json.loads(line) for line in lines]
        return [call["argv"] for call in calls if tool in ("", call["tool"])]


def origin(data: bytes) -> dict[str, Any]:
    """What an object of the stand-in tells of its making; the object must be whole."""
    head, _, _ = data.partition(b"\n")
    told: dict[str, Any] = json.loads(head)
    assert data == standin.content(told["tool"], told["argv"], told["inputs"])
    return told

"""A stand-in for `bisheng` and `ld.lld`: takes their arguments, its objects tell their origin.

It lies in a made-up CANN (`tests/cann_kit.py`), whose root it finds by its own place. Each call
adds a line to `calls.jsonl` there; `orders.json` says what to do instead of working. An object is
a line of JSON (tool, arguments, digest of each input) and a body that is derived from that line,
so that a torn or mixed-up object is seen.
"""

import hashlib
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

BODY = 4096


def content(tool, argv, inputs):
    head = json.dumps({"tool": tool, "argv": argv, "inputs": inputs}, sort_keys=True).encode()
    block = hashlib.sha256(head).digest()
    return head + b"\n" + block * (BODY // len(block))


def orders(home, inputs):
    try:
        given = json.loads((home / "orders.json").read_text())
    except FileNotFoundError:
        return {}
    if given.get("where", "") not in os.getcwd():
        return {}
    wanted = given.get("when")
    if wanted and not any(re.search(wanted, Path(name).read_text("latin-1")) for name in inputs):
        return {}
    return given


def main(home, tool, argv):
    line = json.dumps({"tool": tool, "argv": argv, "cwd": os.getcwd()}) + "\n"
    descriptor = os.open(home / "calls.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line.encode())
    os.close(descriptor)
    output = Path(argv[argv.index("-o") + 1])
    known = {"-o", "-x", "-m", "-I", "-include", "-mllvm"}
    inputs = [
        word
        for before, word in zip(["", *argv], argv, strict=False)
        if word[:1] not in "-@" and before not in known
    ]
    todo = orders(home, inputs)
    if todo.get("tool", tool) == tool:
        time.sleep(todo.get("sleep", 0))
        if "say" in todo:
            print(todo["say"])
        if "signal" in todo:
            os.kill(os.getpid(), signal.Signals[todo["signal"]])
        if "exit" in todo:
            return todo["exit"]
    digests = [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in inputs]
    data = content(tool, argv, digests)
    with output.open("wb") as file:
        # In pieces, so that who is killed leaves a part.
        for start in range(0, len(data), 1024):
            file.write(data[start : start + 1024])
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))

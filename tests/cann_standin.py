"""A stand-in for `bisheng` and `ld.lld`: takes their arguments, its objects tell their origin.

It lies in a made-up CANN (`tests/cann_kit.py`), whose root it finds by its own place. Each call
adds a line to `calls.jsonl` there; `orders.json` says what to do instead of working. An object is
a line of JSON (tool, arguments, digest of each input) and a body that is derived from that line,
so that a torn or mixed-up object is seen.

With a `twin.json` it is a compiler for the host: the text becomes a shared object that the stand-in
for the ACL runtime loads (`tests/twin/binary.h`). Includes, definitions and the standard are those
of the command; a word it does not know is an error.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
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


#: Words for the device alone, without and with a word behind them.
ALONE = r"-c|-O[0-3]|--aicore-only|--npu-arch=.*|-{1,2}cce-.*"
PAIRED = ("-x", "-mllvm", "-o")
#: Words that a compiler for the host knows too, and those with a word behind them.
SHARED = r"-std=.*|-D.+|-g"
SHARED_PAIRED = ("-I", "-include")
SYMBOL = r"__global__\b[^{;]*?\bvoid\s+(\w+)\s*\("


def compile_(home, twin, argv, inputs, output):
    """The text of the one input as an object for the host, with an entry for the stand-in."""
    kept, words = [], iter(argv)
    for word in words:
        if word in SHARED_PAIRED:
            kept += [word, next(words)]
        elif re.fullmatch(SHARED, word):
            kept.append(word)
        elif word in PAIRED:
            next(words)
        elif word not in inputs and not re.fullmatch(ALONE, word):
            print(f"error: unknown argument: '{word}'")
            return 1
    if argv[argv.index("-x") + 1] == "asc":
        kept += ["-I", home / twin["asc_include"]]  # its own headers need no naming
    (source,) = inputs
    text = Path(source).read_text()
    found = re.search(SYMBOL, text)
    if found is None:
        print(f"{source}:1:1: error: no kernel")
        return 1
    whole = output.with_name(f"{output.name}.cpp")
    # The header that is compiled beforehand has to come first.
    includes = "".join(f'#include "{name}"\n' for name in (*twin["first"], source))
    meets = int(re.search(twin["meets"], text) is not None)
    whole.write_text(f"{includes}TWIN_BINARY({found[1]}, {meets})\n")
    return run([*twin["compiler"], "-c", *kept, whole, "-o", output])


def link(home, twin, argv, inputs, output):
    """A library of the last object: for each kind of core there is one, of the same text."""
    return run([*twin["compiler"], "-shared", inputs[-1], "-o", output, *twin["libraries"]])


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    sys.stdout.buffer.write(done.stdout)
    return done.returncode


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
    if (home / "twin.json").is_file():
        twin = json.loads((home / "twin.json").read_text())
        return {"bisheng": compile_, "ld.lld": link}[tool](home, twin, argv, inputs, output)
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

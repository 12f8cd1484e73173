"""A stdio server without any SDK, which answers as it is told: ``scripted.py '{"METHOD": …}'``.

Each method has a list of what happens when it is asked, one after the other; the last goes on:

* ``{"result": …}`` or ``{"error": …}`` is answered,
* ``{"raw": "text"}`` is written as it is,
* ``{"exit": status}`` ends the process at once,
* ``{"deaf": true}`` never reads again,
* ``null`` is silence.

Each may have ``"before"``: text to be written first. "banner" is written before anything is
read. The method of each message goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time

script = json.loads(sys.argv[1])


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def fill(value: object, request: dict) -> object:
    """Put what the client asked for where the script says "ASKED"."""
    if value == "ASKED":
        return request["params"]["protocolVersion"]
    if isinstance(value, dict):
        return {key: fill(each, request) for key, each in value.items()}
    return value


def answer(request: dict, step: dict | None) -> None:
    if step is None:
        return
    write(step.get("before", ""))
    if "raw" in step:
        write(step["raw"])
    if "exit" in step:
        os._exit(step["exit"])
    if "result" in step or "error" in step:
        kind = "result" if "result" in step else "error"
        message = {"jsonrpc": "2.0", "id": request["id"], kind: fill(step[kind], request)}
        write(json.dumps(message) + "\n")
    if step.get("deaf"):
        while True:
            time.sleep(60)


write(script.pop("banner", ""))
unknown = [{"error": {"code": -32601, "message": "Method not found"}}]
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    print(method, file=sys.stderr, flush=True)
    if "id" in message:
        steps = script.get(method, unknown)
        answer(message, steps.pop(0) if len(steps) > 1 else steps[0])

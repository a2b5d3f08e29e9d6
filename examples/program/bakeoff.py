"""A client of bakeoff in Python. Copy this file beside your program, and say there:

    import bakeoff
    bakeoff.serve(buy=buy, browse=browse)

Connect before that: what serve() is given is timed. An operation is a function of its number, which is
the same in every run with the same seed. What it returns is not looked at, but for a pair: rows and bytes.
"""

import os

DESCRIPTOR = int(os.environ["BAKEOFF_FD"])
CLIENT = int(os.environ["BAKEOFF_CLIENT"])
SEED = int(os.environ["BAKEOFF_SEED"])


def say(line):
    os.write(DESCRIPTOR, line.encode() + b"\n")


def retried(times=1):
    """Says in an operation that transactions of it were run again."""
    say(f"retry {times}")


def serve(**operations):
    """Runs operations until bakeoff says stop."""
    say("ready")
    with os.fdopen(DESCRIPTOR, "rb", closefd=False) as lines:
        for line in lines:
            word, *rest = line.decode().split()
            if word == "stop":
                break
            if word == "do":
                say(run(operations[rest[0]], int(rest[1])))


def run(operation, number):
    try:
        done = operation(number)
    except Exception as error:
        return "error " + repr(error).replace("\n", " ")[:1000]
    match done:
        case (int(rows), int(size)):
            return f"ok {rows} {size}"
    return "ok"

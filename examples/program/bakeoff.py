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


def ack(key):
    """Says in an operation that the database has promised to keep this key."""
    say(f"ack {key}")


def serve(**operations):
    """Runs operations until bakeoff says stop."""
    for word, rest in requests():
        if word == "do":
            name, number = rest.split()
            say(run(operations[name], int(number)))


def audit(check):
    """Says after a power cut what check(key) finds of each acknowledged key: ok, lost or torn."""
    for word, key in requests():
        if word == "audit":
            try:
                say(check(key))
            except Exception as error:
                say("error " + repr(error).replace("\n", " ")[:1000])


def requests():
    say("ready")
    with os.fdopen(DESCRIPTOR, "rb", closefd=False) as lines:
        for line in lines:
            word, _, rest = line.decode().rstrip("\n").partition(" ")
            if word == "stop":
                break
            yield word, rest


def run(operation, number):
    try:
        done = operation(number)
    except Exception as error:
        return "error " + repr(error).replace("\n", " ")[:1000]
    match done:
        case (int(rows), int(size)):
            return f"ok {rows} {size}"
    return "ok"

"""A client of bakeoff in Python. Copy this file beside your program, and say there:

    import bakeoff
    bakeoff.serve(buy=buy, browse=browse)

Connect before that: what serve() is given is timed. An operation is a function of its number, which is
the same in every run with the same seed. What it returns is not looked at, but for a pair: rows and bytes."""
import os

DESCRIPTOR, CLIENT, SEED = (int(os.environ.get(f"BAKEOFF_{it}", -1)) for it in ("FD", "CLIENT", "SEED"))


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
    for request in requests():
        name, number = request.split()
        say(run(operations[name], int(number)))


def audit(check):
    """Says after a power cut what check(key) returns of each acknowledged key: "lost", "torn", or None."""
    for key in requests():
        say({None: "ok", "lost": "lost", "torn": "torn"}[check(key)])


def requests():
    say("ready")
    with os.fdopen(DESCRIPTOR, "rb", closefd=False) as lines:
        for line in lines:
            word, _, rest = line.decode().rstrip("\n").partition(" ")
            if word == "stop":
                break
            if word in ("do", "audit"):
                yield rest


def run(operation, number):
    try:
        match operation(number):
            case (int(rows), int(size)):
                return f"ok {rows} {size}"
        return "ok"
    except Exception as error:
        return "error " + repr(error).replace("\n", " ")[:1000]

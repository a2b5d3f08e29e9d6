"""As much of Redis's protocol (RESP) as the programs beside this file need."""

import os
import socket


class Redis:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.environ["BAKEOFF_SOCKET"])
        self.answers = self.socket.makefile("rb")

    def call(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))
        kind, rest = self.read_line()
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$" and int(rest) >= 0:
            return self.answers.read(int(rest) + 2)[:-2].decode()
        return None if kind == b"$" else rest.decode()

    def read_line(self):
        line = self.answers.readline()
        if not line:
            raise ConnectionError("Redis has closed the connection")
        return line[:1], line[1:-2]

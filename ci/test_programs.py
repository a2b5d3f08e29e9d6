#!/usr/bin/env python3
"""The programs of tests of a checkout, and how cargo would run each: its arguments, folder and environment."""

import functools
import json
import mmap
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass


@dataclass
class TestProgram:
    label: str
    path: str
    arguments: list
    folder: str
    environment: dict

    @property
    def name(self):
        return os.path.basename(self.path).rsplit("-", 1)[0]

    @functools.cached_property
    def has_standard_harness(self):
        """A harness of one's own neither times tests nor takes several names."""
        with open(self.arguments[0], "rb") as file:
            return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ).find(b"report-time") >= 0


def note(folder, arguments):
    """What cargo runs in the place of each program: writes down how it would be run."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_RUNNER")}
    with open(os.path.join(folder, os.path.basename(arguments[0])), "w", encoding="utf-8") as file:
        json.dump([arguments, os.getcwd(), kept], file)


def build_programs(root, selection, arguments=()):
    """Builds the programs of tests of the selected packages; ends with 1 if that fails."""
    command = ["cargo", "test", "--locked", "--tests", *selection]
    if subprocess.run([*command, "--no-run"], cwd=root).returncode != 0:
        sys.exit(1)
    host = subprocess.run(["rustc", "--print", "host-tuple"], capture_output=True, text=True, check=True)
    runner = f"CARGO_TARGET_{host.stdout.strip().upper().replace('-', '_')}_RUNNER"
    with tempfile.TemporaryDirectory() as notes:
        environment = dict(os.environ, **{runner: f"{os.path.abspath(__file__)} --note {notes}"})
        done = subprocess.run([*command, "--", *arguments], cwd=root, env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        programs = []
        for label, path in re.findall(r"^ +Running (.+) \((.+)\)$", done.stderr, re.M):
            with open(os.path.join(notes, os.path.basename(path)), encoding="utf-8") as file:
                programs.append(TestProgram(label, path, *json.load(file)))
    return programs


if __name__ == "__main__":
    assert sys.argv[1] == "--note", __doc__
    note(sys.argv[2], sys.argv[3:])

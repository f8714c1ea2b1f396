"""A session of commands in a process of its own, whatever its locale: FILE PAGE.

The last commands write into pipes of encodings that lack some of the characters.
"""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from rag.cli import main
from rag.loaders import load


def _run(label: str, commands: Sequence[Sequence[str]]) -> None:
    for command in commands:
        try:
            main(command)
        except SystemExit as ended:
            print(label, ended.code)


def _session(file: str, page: str) -> None:
    assert "나비" in load(Path(file)).text
    _run("exit", [["add", file, "--json"], ["search", "나비", "--mode", "lexical"]])
    _run("exit", [["report", "-o", page], ["list"], ["verify"], ["search", " "]])
    for encoding in ("cp949", "latin-1"):
        for command in (["list"], ["list", "--json"], ["remove", "☕"]):
            for stream in (sys.stdout, sys.stderr):
                assert isinstance(stream, TextIOWrapper)
                stream.reconfigure(encoding=encoding, errors="strict")
            _run("then", [command])


if __name__ == "__main__":
    _session(*sys.argv[1:])

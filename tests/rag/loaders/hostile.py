"""A reading process whose loader does what the file's name says, for better or worse.

python hostile.py FOLDER_THAT_HOLDS_THE_PRODUCT
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from rag.loaders.errors import EmptyFile, UnsupportedFile
from rag.loaders.worker import serve
from rag.records import ExtractedText, Page

print("a library greets everyone who imports it", flush=True)


spoilt: list[Path] = []


def load(path: Path, *, ocr: bool) -> ExtractedText:
    if spoilt:
        os._exit(4)
    match path.stem.rstrip("0123456789"):
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(3)
        case "hang":
            helper = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
            path.with_suffix(".pids").write_text(f"{os.getpid()} {helper.pid}", encoding="utf-8")
            helper.wait()
        case "flee":
            if os.fork() == 0:  # keeps the pipes open, out of reach
                os.setsid()
                time.sleep(1)
            os._exit(0)
        case "modules":
            return ExtractedText(" ".join(sys.modules), "t", "text/plain")
        case "memory":
            return ExtractedText("x".join(str(bytes(1 << 24)) for _ in range(10_000)), "t", "a/b")
        case "garbage":
            _write_to_every_pipe(b"[]" * 1000)
        case "huge":
            _write_to_every_pipe(b"\x7f" * 8)
            time.sleep(60)
        case "false":
            return ExtractedText("text", "t", "text/plain", pages=(Page(1, 0, 400),))
        case "print":
            print("x" * 100_000, flush=True)
            os.write(1, b"y" * 100_000)
            subprocess.run(["echo", "z"], check=False)
        case "slow":
            time.sleep(0.2)
        case "spoil":
            spoilt.append(path)
        case "bug":
            raise KeyError("a fault\nof a library")
        case "empty":
            raise EmptyFile("nothing in it")
        case "unsupported":
            raise UnsupportedFile("of another kind\x1b[31m")
    return ExtractedText(
        f"{path.name} {os.getpid()}", path.stem, "text/plain", warnings=(str(ocr),)
    )


def _write_to_every_pipe(data: bytes) -> None:
    for descriptor in range(3, 32):
        with suppress(OSError):
            os.write(descriptor, data)


if __name__ == "__main__":
    serve(load)

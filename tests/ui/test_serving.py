"""What `python -m ui` says before there is a page to see."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import ui
from ui.__main__ import CannotListen, listening


def served(home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ATTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "ui"],
        env=kept | {"ATTEST_HOME": str(home), "PYTHONUTF8": "1"} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_a_busy_port_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        done = served(tmp_path, ATTEST_PORT=str(port))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"port {port} on 127.0.0.1 cannot be had" in done.stderr
    assert "ATTEST_PORT" in done.stderr


def test_a_missing_model_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    done = served(tmp_path, ATTEST_PORT="0", ATTEST_MODELS_DIR=str(tmp_path / "none"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "attest models pull" in done.stderr


def test_other_machines_are_not_let_in_without_anything_to_show(tmp_path: Path) -> None:
    done = served(tmp_path, ATTEST_PORT="0", ATTEST_HOST="0.0.0.0")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "attest password" in done.stderr
    assert "--open" in done.stderr


def test_an_address_of_another_machine_cannot_be_had() -> None:
    with pytest.raises(CannotListen, match=r"203\.0\.113\.7 is not an address of this machine"):
        listening("203.0.113.7", 0)


def test_a_socket_takes_connections_before_the_page_is_there() -> None:
    with listening("127.0.0.1", 0) as listener:
        socket.create_connection(listener.getsockname(), timeout=5).close()


def test_the_front_has_one_name() -> None:
    assert ui.__all__ == ["mount"]
    with pytest.raises(AttributeError, match="no attribute 'serve'"):
        _ = ui.serve

"""The files that others' tools read: Dockerfile, compose.yaml and the systemd unit."""

import configparser
import re
from pathlib import Path
from typing import Any

import pytest

from rag.settings import PREFIX, Settings

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: it comes with gradio")

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
UNIT = (ROOT / "packaging/attest.service").read_text(encoding="utf-8")
INSTRUCTIONS = (
    "ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK RUN STOPSIGNAL USER VOLUME WORKDIR"
)


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE, flags=re.M)
    joined = re.sub(r"\\\n\s*", "", text)
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(word, rest) for word, _, rest in found]


def test_every_line_of_the_dockerfile_is_an_instruction() -> None:
    known = set(INSTRUCTIONS.split())
    assert {word for word, _ in instructions()} <= known
    last = dict(instructions())
    assert last["USER"] == "attest"
    assert last["ENTRYPOINT"] == '["attest"]'
    assert last["CMD"] == '["serve"]'
    assert last["VOLUME"] == "/data"
    assert "/health" in last["HEALTHCHECK"]


@pytest.mark.parametrize("text", [DOCKERFILE, COMPOSE, UNIT], ids=["docker", "compose", "unit"])
def test_the_settings_that_are_named_exist(text: str) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+)\b", text))
    assert named
    assert named <= {name.upper() for name in Settings.model_fields}


def test_the_paths_that_are_copied_and_left_out_are_those_of_the_checkout() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert "tests" in ignored
    for needed in ("pyproject.toml", "rag", "ui", "transformer", "constraints.txt", "LICENSE"):
        assert needed not in ignored
        assert (ROOT / needed).exists()


def test_compose_has_a_volume_a_health_check_and_one_port_of_this_machine() -> None:
    composed: dict[str, Any] = yaml.safe_load(COMPOSE)
    service = composed["services"]["attest"]
    assert service["volumes"] == ["library:/data"]
    assert "library" in composed["volumes"]
    assert service["ports"] == [f"127.0.0.1:{Settings.model_fields['port'].default}:7860"]
    assert "/health" in service["healthcheck"]["test"][-1]
    assert service["healthcheck"]["test"][0] == "CMD"
    compile(service["healthcheck"]["test"][-1], "healthcheck", "exec")
    assert service["stop_grace_period"].endswith("s")


def test_the_unit_runs_as_its_own_user_and_ends_in_order() -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT)
    assert parser.sections() == ["Unit", "Service", "Install"]
    service = parser["Service"]
    assert service["ExecStart"].endswith("/attest serve")
    assert service["User"] == "attest"
    assert service["StateDirectory"] == "attest"
    assert service["KillSignal"] == "SIGTERM"
    assert parser["Install"]["WantedBy"] == "multi-user.target"

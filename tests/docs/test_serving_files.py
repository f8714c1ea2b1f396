"""The files that others' tools read: Dockerfile, compose files, the proxy's and the unit."""

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rag.settings import PREFIX, Settings
from tests.docs import reference

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: it comes with gradio")

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
TEAM = (ROOT / "compose.team.yaml").read_text(encoding="utf-8")
PROXY = (ROOT / "packaging/haproxy.cfg").read_text(encoding="utf-8")
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


@pytest.mark.parametrize(
    "text", [DOCKERFILE, COMPOSE, TEAM, UNIT], ids=["docker", "compose", "team", "unit"]
)
def test_the_settings_that_are_named_exist(text: str) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+)\b", text))
    assert named
    assert named <= {name.upper() for name in Settings.model_fields}


def team() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load(TEAM)["services"]
    return services


def test_whatever_a_service_of_the_team_waits_for_is_there_and_says_so() -> None:
    services, volumes = team(), yaml.safe_load(TEAM)["volumes"]
    for name, service in services.items():
        needed = service.get("depends_on", {})
        for other in needed:
            assert other in services, name
            if isinstance(needed, dict) and needed[other]["condition"] == "service_healthy":
                assert services[other]["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL"), other
        for mounted in service.get("volumes", ()):
            source = mounted.split(":")[0]
            assert source in volumes or (ROOT / source).exists(), mounted
        built, published = service.get("image", ""), service.get("ports", [])
        assert ":" in built or built == "attest-team", f"{name} is of no fixed version"
        assert all(port.startswith("127.0.0.1:") for port in published), name
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert set(re.findall(r"\$\{(\w+PASSWORD)(?!:\?)", TEAM)) == set()  # none has a default


def test_the_servers_of_the_team_are_alike_and_begin_after_the_migration() -> None:
    services = team()
    one, two = services["attest-1"], services["attest-2"]
    assert one == two
    assert one["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert one["environment"] == services["migrate"]["environment"]
    assert "models:/models:ro" in one["volumes"]
    assert "install -d -o attest -g attest /data /models" in DOCKERFILE  # else they are root's
    assert "/ready" in one["healthcheck"]["test"][-1]
    compile(one["healthcheck"]["test"][-1], "healthcheck", "exec")
    command = services["migrate"]["command"][0]
    assert f"attest {command}" in reference.commands()
    extras = services["migrate"]["build"]["args"]["EXTRAS"]
    assert "ARG EXTRAS" in DOCKERFILE
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = set(project["project"]["optional-dependencies"])
    assert set(extras.strip("[]").split(",")) <= known


def test_the_proxy_leads_to_the_servers_and_keeps_browsers_at_theirs() -> None:
    services = team()
    backends = re.findall(r"^backend (\w+)\n((?:    .*\n?|\n)+)", PROXY, re.M)
    assert [name for name, _ in backends] == ["pages", "programs"]
    for _, lines in backends:
        served = re.findall(r"^    server \w+ ([\w-]+):7860 ", lines, re.M)
        assert served == [name for name in services if name.startswith("attest-")]
        assert "GET /ready" in lines
    assert "cookie attest_replica insert" in dict(backends)["pages"]
    assert re.findall(r"^    bind :(\d+)$", PROXY, re.M) == ["7860"]


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")
def test_the_proxy_can_read_its_file(tmp_path: Path) -> None:
    here = re.sub(r"attest-\d:", "127.0.0.1:", PROXY)
    (tmp_path / "haproxy.cfg").write_text(here, encoding="utf-8")
    command = ["haproxy", "-c", "-f", str(tmp_path / "haproxy.cfg")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


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

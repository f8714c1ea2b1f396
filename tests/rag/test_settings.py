from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.settings import load_settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    for key in [k for k in os.environ if k.startswith("ATTEST_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("ATTEST_HOME", str(tmp_path))


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert load_settings({}).port == 7860
    (tmp_path / "attest.toml").write_text('port = 1111\ncollection = "묶음"\n', encoding="utf-8")
    assert load_settings({}).port == 1111
    monkeypatch.setenv("ATTEST_PORT", "2222")
    assert load_settings({}).port == 2222
    assert load_settings({"port": 3333, "collection": None}).port == 3333
    assert load_settings({}).collection == "묶음"


def test_the_file_is_looked_for_in_the_home_that_was_named(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "attest.toml").write_text("port = 4444\n", encoding="utf-8")

    assert load_settings({"home": other}).port == 4444


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "prot"),
        ("port = 70000", "port"),
        ('port = "x"', "port"),
        ("port = = 1", "attest.toml cannot be read"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_key(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "attest.toml").write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=message):
        load_settings({})


def test_an_unknown_name_in_the_environment_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_PROT", "1")

    with pytest.raises(UsageError, match="ATTEST_PROT"):
        load_settings({})


def test_folders_are_absolute_and_know_the_home_of_the_user() -> None:
    settings = load_settings({"home": Path("~/library"), "models_dir": Path("models")})

    assert settings.home == Path.home() / "library"
    assert settings.models_dir.is_absolute()

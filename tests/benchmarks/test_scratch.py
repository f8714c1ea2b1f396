"""What `make scratch` trains, on what, and the figures that it ends with."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import scratch
from encoder.scratch_config import read

ROOT = Path(__file__).parents[2]


def test_the_text_is_the_users_else_public_else_the_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = scratch._plan(tmp_path / "mine.txt", None, tmp_path)
    assert (given.texts, given.config.stem) == ((tmp_path / "mine.txt",), "encoder-en-ko")

    monkeypatch.setattr(scratch, "PUBLIC", tmp_path)
    toy = scratch._plan(None, None, tmp_path)
    assert "a toy" in toy.remark
    lines = toy.texts[0].read_text(encoding="utf-8").splitlines()
    assert len(lines) > 300
    assert any("연차휴가" in line for line in lines)

    for name in ("en_wiki.txt", "ko_sentences.txt"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    public = scratch._plan(None, ROOT / "configs" / "encoder-tiny.toml", tmp_path)
    assert {file.parent for file in public.texts} == {tmp_path}
    assert (public.config.stem, public.settings, public.remark) == ("encoder-tiny", (), "")


@pytest.mark.parametrize("text", [None, "mine.txt"])
def test_the_time_is_shared_out_and_the_settings_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setattr(scratch, "PUBLIC", tmp_path)
    plan = scratch._plan(tmp_path / text if text else None, None, tmp_path)
    config = read(plan.config, scratch._settings(plan, 2.0)[1::2])
    assert config.pretrain is not None
    assert config.contrast is not None
    assert config.pretrain.training.minutes == pytest.approx(84)
    assert config.contrast.training.minutes == pytest.approx(36)


@pytest.mark.slow
def test_from_nothing_to_figures_and_again(tmp_path: Path) -> None:
    texts = scratch._sample_texts(tmp_path / "texts.txt")
    config = tmp_path / "config.toml"
    tiny = (ROOT / "configs" / "encoder-tiny.toml").read_text(encoding="utf-8")
    config.write_text(tiny.replace("size = 400", "size = 2500"), encoding="utf-8")
    given = ["--text", str(texts), "--config", str(config), "--folder", str(tmp_path / "made")]
    command = [sys.executable, "-m", "benchmarks.scratch", *given]

    def told() -> str:
        return subprocess.run(
            command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
        ).stdout

    first, again = told(), told()

    assert "43 added" in first
    assert "43 unchanged" in again
    # The table; the path of the encoder stands above it.
    assert first[first.rindex("encoder  ") :] == again[again.rindex("encoder  ") :]
    assert "trained here" in again

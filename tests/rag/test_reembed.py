"""A library that moves to another encoder."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from encoder import Embedder
from rag import Assistant, Settings
from rag.errors import ModelMissing, UsageError
from rag.reembed import only_mover
from tests.builders import spelling_encoder
from tests.rag.conftest import Ran


@pytest.fixture(scope="module")
def other_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another spelling encoder: other vectors, of another width, for shorter texts."""
    folder = tmp_path_factory.mktemp("models") / "other-encoder"
    return spelling_encoder(folder, seed=7, d_model=24, max_tokens=128, prefix="passage: ")


def _finished(attest: Assistant, encoder: Path) -> bool:
    *_, last = attest.reembed(str(encoder))
    return last.finished


def test_the_old_vectors_answer_until_the_switch(library: Assistant, other_folder: Path) -> None:
    before = library.status()
    old = library.search("warranty of the lamp", mode="dense")
    texts = {row.id: library.text(row.id) for row in library.documents()}
    steps = library.reembed(str(other_folder))
    for step in steps:
        if not step.finished:
            status = library.status()
            if status.fingerprint == before.fingerprint:
                again = library.search("warranty of the lamp", mode="dense")
                assert [hit.chunk.id for hit in again.hits] == [hit.chunk.id for hit in old.hits]
    after = library.status()
    assert after.fingerprint == Embedder.load(other_folder).fingerprint != before.fingerprint
    assert (after.former, after.pending) == (0, 0)
    assert after.chunks == after.vectors > 0
    new = library.search("warranty of the lamp", mode="dense")
    assert new.hits
    for hit in new.hits:
        assert texts[hit.chunk.document.id][hit.chunk.start : hit.chunk.end] == hit.chunk.text
        assert hit.chunk.tokens <= 128
    assert {row.id for row in library.documents()} == set(texts)


def test_headings_and_pages_come_along(library: Assistant, other_folder: Path) -> None:
    assert _finished(library, other_folder)
    found = library.search("Batteries", mode="lexical")
    assert any("Batteries" in hit.chunk.heading for hit in found.hits)


def test_a_move_goes_on_where_it_was_left(library: Assistant, other_folder: Path) -> None:
    asked = iter(range(4))
    steps = list(library.reembed(str(other_folder), stop=lambda: next(asked, None) is None))
    assert not steps[-1].finished
    before = library.status()
    assert before.vectors == before.chunks
    assert library.search("lamp", mode="dense").hits
    assert _finished(library, other_folder)
    assert library.status().former == 0


def test_what_is_added_and_changed_meanwhile_comes_along(
    library: Assistant, other_folder: Path, tmp_path: Path
) -> None:
    late = tmp_path / "late.txt"
    late.write_text("The ferry leaves at noon.", encoding="utf-8")
    steps = library.reembed(str(other_folder))
    next(steps)
    library.add(late)
    library.remove(["hours.txt"])
    *_, last = steps
    assert last.finished
    assert library.status().pending == 0
    hits = library.search("ferry noon", mode="dense", k=50).hits
    assert "The ferry leaves at noon." in {hit.chunk.text for hit in hits}
    assert "hours.txt" not in {Path(hit.chunk.document.path).name for hit in hits}


def test_the_same_model_again_is_nothing_to_do(library: Assistant, encoder_folder: Path) -> None:
    (step,) = library.reembed(str(encoder_folder))
    assert (step.finished, step.documents) == (True, 3)


def test_two_moves_do_not_run_at_once(library: Assistant, other_folder: Path) -> None:
    with (
        only_mover(library, "default"),
        pytest.raises(UsageError, match="another process is moving 'default'"),
    ):
        next(library.reembed(str(other_folder)))


def test_another_encoder_in_the_settings_leaves_the_library_with_its_own(
    library: Assistant, other_folder: Path
) -> None:
    moved = library.settings.model_copy(update={"encoder": str(other_folder)})
    with Assistant.open(moved) as attest:
        assert attest.search("lamp", mode="dense").hits
        assert attest.status().wanted_encoder == str(other_folder)


def test_a_model_that_is_gone_or_changed_refuses_and_names_both(
    shelf: Path, tmp_path: Path, encoder_folder: Path, other_folder: Path
) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(encoder_folder, mine)
    settings = Settings(home=tmp_path / "home", encoder=str(mine), threads=1)
    with Assistant.open(settings) as attest:
        attest.add(shelf)
    changed = settings.model_copy(update={"encoder": str(other_folder)})
    shutil.rmtree(mine)
    with Assistant.open(changed) as attest:
        with pytest.raises(ModelMissing) as refused:
            attest.search("lamp")
        assert str(mine) in str(refused.value)
        assert f"attest reembed {other_folder}" in str(refused.value)
        assert attest.search("lamp", mode="lexical").hits
        assert _finished(attest, other_folder)
        assert attest.search("lamp", mode="dense").hits
    shutil.copytree(encoder_folder, other_folder.parent / "again")
    with Assistant.open(settings) as attest:
        assert attest.status().encoder == str(other_folder)


def test_a_name_that_means_another_model_now_is_refused(
    shelf: Path, tmp_path: Path, encoder_folder: Path, other_folder: Path
) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(encoder_folder, mine)
    settings = Settings(home=tmp_path / "home", encoder=str(mine), threads=1)
    with Assistant.open(settings) as attest:
        attest.add(shelf)
    shutil.rmtree(mine)
    shutil.copytree(other_folder, mine)
    with Assistant.open(settings) as attest:
        with pytest.raises(ModelMissing, match="is now another model"):
            attest.search("lamp")
        assert _finished(attest, mine)
        assert attest.search("lamp").hits


def test_the_command_moves_the_library(
    run: Callable[..., Ran], shelf: Path, other_folder: Path
) -> None:
    assert run("add", shelf).code == 0
    ran = run("reembed", other_folder)
    assert ran.code == 0
    assert "answers by" in ran.out
    assert str(other_folder) in run("status").out

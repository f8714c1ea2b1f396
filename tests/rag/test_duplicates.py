import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rag import Assistant
from rag.differences import differences
from rag.duplicates import likeness, shingles, signature
from rag.duplicates_text import as_csv
from rag.errors import UsageError
from tests.rag.conftest import Ran

LETTER = (
    "The tenant pays 900 euros a month for the flat in Mill Street. The rent is due on the first "
    "day of each month. The landlord keeps the roof and the pipes in order. Pets are allowed."
)
CHANGED = LETTER.replace("900 euros", "950 euros")
OTHER = "Oats grow on poor soil and need little care, but they do not stand drought in May at all."


@pytest.fixture
def letters(attest: Assistant, tmp_path: Path) -> Assistant:
    texts = {"a.txt": LETTER, "b.txt": CHANGED, "c.txt": OTHER, "copy.txt": LETTER}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        attest.add(tmp_path / name)
    return attest


def test_versions_and_copies_make_one_group_with_what_differs(letters: Assistant) -> None:
    found = letters.duplicates()
    (group,) = found.groups
    assert found.compared == 3
    assert group.first.path.endswith("a.txt")
    copy, version = group.copies
    assert (Path(copy.document.path).name, copy.same_file, copy.likeness) == ("copy.txt", True, 1)
    assert copy.differences == ()
    assert Path(version.document.path).name == "b.txt"
    assert not version.same_file
    (changed,) = version.differences
    assert "900 euros" in changed.before
    assert "950 euros" in changed.after
    assert LETTER[changed.before_start :].startswith(changed.before)
    assert CHANGED[changed.after_start :].startswith(changed.after)


def test_a_stricter_bound_leaves_versions_out(letters: Assistant) -> None:
    (group,) = letters.duplicates(at_least=1).groups
    assert [Path(copy.document.path).name for copy in group.copies] == ["copy.txt"]
    with pytest.raises(UsageError, match=r"0\.1 cannot be: choose 0\.3 to 1"):
        letters.duplicates(at_least=0.1)


def test_an_empty_library_has_none(attest: Assistant) -> None:
    assert attest.duplicates().groups == ()


def test_signatures_tell_how_much_is_shared() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 10_000, 3000)
    one = " ".join(map(str, words))
    other = " ".join(map(str, [*words[:2000], *rng.integers(0, 10_000, 1000)]))
    exact = likeness(shingles(one), shingles(other))
    guess = float((signature(shingles(one)) == signature(shingles(other))).mean())
    assert exact == pytest.approx(0.5, abs=0.02)
    assert guess == pytest.approx(exact, abs=0.18)
    assert likeness(shingles(one), shingles(one)) == 1
    assert likeness(shingles("a"), shingles("")) == 0


def test_a_form_that_was_filled_in_often_is_one_group(attest: Assistant, tmp_path: Path) -> None:
    for number in range(12):
        file = tmp_path / f"{number}.txt"
        file.write_text(f"{LETTER} Signed by tenant number {number}.", encoding="utf-8")
    attest.add(*(tmp_path / f"{number}.txt" for number in range(12)))
    (group,) = attest.duplicates().groups
    assert len(group.copies) == 11


def test_differences_ignore_line_ends_and_name_what_came_and_went() -> None:
    told, more = differences("One. Two. Three.", "One.\nTwo. Drei. Four.")
    assert [(each.before, each.after) for each in told] == [("Three.", "Drei."), ("", "Four.")]
    assert more == 0
    assert differences("Same text.", "Same  text.") == ((), 0)


def test_many_differences_are_counted() -> None:
    one = " ".join(f"This is sentence number {i}." for i in range(60))
    told, more = differences(one, one.replace("number", "no"))
    assert len(told) == 20
    assert more == 40


def test_csv_holds_no_formula(attest: Assistant, tmp_path: Path) -> None:
    for name, end in (("a", "=1+1 is what it says."), ("b", "@SUM(A1) is what it says.")):
        (tmp_path / f"{name}.txt").write_text(f"{LETTER}\n\n{end}", encoding="utf-8")
    attest.add(tmp_path / "a.txt", tmp_path / "b.txt")
    rows = list(csv.reader(io.StringIO(as_csv(attest.duplicates()).decode("utf-8-sig"))))
    assert rows[1][5:] == ["'=1+1 is what it says.", "'@SUM(A1) is what it says."]


def test_the_command_writes_what_it_finds(
    run: Callable[..., Ran], letters: Assistant, tmp_path: Path
) -> None:
    said = json.loads(run("duplicates", "--json", "-o", tmp_path / "found.json").out)
    assert said == json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert len(said["groups"][0]["copies"]) == 2
    assert "2 copies in 1 groups, of 3 documents" in run("duplicates").out
    assert run("duplicates", "-o", tmp_path / "found.txt").code == 2

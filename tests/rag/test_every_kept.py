"""A table's finished cells outlive the process that found them."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

from rag import Assistant
from rag.every_kept import FOLDER

ASKED = ["How long does the warranty last?", "연차는 며칠인가?", "When does it open?"]


def files(library: Assistant) -> list[Path]:
    return sorted((library.settings.home / FOLDER).glob("*/*.jsonl"))


def after(cells: int) -> Callable[[], bool]:
    """Stops in front of the next cell."""
    asked = count()
    return lambda: next(asked) >= cells


def test_the_same_table_goes_on_after_a_restart(library: Assistant) -> None:
    whole = library.every(ASKED)
    list(whole.fill())
    for file in files(library):
        file.unlink()
    broken = library.every(ASKED)
    assert len(list(broken.fill(after(4)))) == 4

    with Assistant.open(library.settings) as started_again:
        resumed = started_again.every(ASKED)
        assert len(list(resumed.fill(after(0)))) == 4  # which nobody looked at again
        assert resumed.table.cells == broken.table.cells
        list(resumed.fill())
        assert resumed.table.cells == whole.table.cells
        again = started_again.every(ASKED)
        list(again.fill(after(0)))
        assert again.table == whole.table
        other = started_again.every([ASKED[1], "Is it closed on Saturday?"])
        assert {cell.question for cell in other.fill(after(0))} == {0}
        started_again.upload("new.txt", b"The bicycle is green and stands in the yard.")
        grown = started_again.every(ASKED)
        assert len(list(grown.fill(after(0)))) == whole.total


def test_what_a_kill_has_cut_off_is_found_again(library: Assistant) -> None:
    whole = library.every(ASKED)
    list(whole.fill())
    file = files(library)[0]
    file.write_bytes(file.read_bytes()[:-40])
    with Assistant.open(library.settings) as started_again:
        resumed = started_again.every(ASKED)
        assert len(list(resumed.fill(after(0)))) == whole.total - 1
        list(resumed.fill())
        assert resumed.table == whole.table
        again = started_again.every(ASKED)
        assert len(list(again.fill(after(0)))) == whole.total


def test_two_that_fill_one_table_do_not_wait_for_each_other(library: Assistant) -> None:
    first, second = library.every(ASKED), library.every(ASKED)
    one = first.fill()
    next(one)
    list(second.fill())
    list(one)
    assert first.table == second.table


def test_no_text_of_a_document_is_kept_and_nothing_of_a_library_that_went(
    library: Assistant,
) -> None:
    list(library.every(ASKED).fill())
    told = b"".join(file.read_bytes() for file in files(library))
    assert b"offered" in told
    assert b"warranty" not in told
    library.drop("default")
    assert not files(library)

import json
from collections.abc import Callable
from pathlib import Path

from tests.rag.conftest import Ran

Run = Callable[..., Ran]


def test_collections_are_made_listed_renamed_and_removed(run: Run, shelf: Path) -> None:
    assert run("collections").out == "no collection yet: the first document makes one\n"
    assert run("collections", "create", " 계약서 ").out == "made 계약서\n"
    run("add", shelf)
    listed = run("collections", "list").out.splitlines()
    assert [line.split()[0] for line in listed] == ["3", "0"]
    assert listed[0].endswith("  default  (default)")

    assert run("collections", "rename", "계약서", "contracts").out == "계약서 is contracts now\n"
    known = json.loads(run("collections", "--json").out)
    assert known["default"] == "default"
    assert [(one["name"], one["documents"]) for one in known["collections"]] == [
        ("contracts", 0),
        ("default", 3),
    ]
    assert {one["dimensions"] for one in known["collections"]} == {16}

    unsure = run("collections", "remove", "default")
    assert (unsure.code, "documents of 'default' (3): add --yes" in unsure.err) == (2, True)
    assert run("collections", "remove", "default", "--yes").out == (
        "removed default and its 3 documents\n"
    )
    assert run("collections", "remove", "contracts").code == 0
    assert json.loads(run("collections", "--json").out)["collections"] == []


def test_what_cannot_be_is_told(run: Run) -> None:
    run("collections", "create", "a")
    taken = run("collections", "create", "a")
    assert (taken.code, "there is a collection 'a' already" in taken.err) == (1, True)
    assert run("collections", "create", " ").code == 2
    assert run("collections", "rename", "b", "c").code == 1
    assert run("collections", "rename", "a", "\n").code == 2
    assert run("collections", "remove", "b", "--yes").code == 1

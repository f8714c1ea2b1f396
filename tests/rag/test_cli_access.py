"""Keys and the password from the command line, and where `serve` refuses to listen."""

import io
import json
from collections.abc import Callable

import pytest

from index import Catalog
from index.keys import Keys
from rag import Settings
from rag.access import is_password
from tests.rag.conftest import Ran

Run = Callable[..., Ran]


def keys_of(settings: Settings, read: Callable[[Keys], object]) -> object:
    with Catalog(settings.home) as catalog:
        return read(Keys(catalog.database))


def test_a_key_is_made_listed_and_revoked(run: Run, settings: Settings) -> None:
    made = run("keys", "create", "nightly script", "--write", "-c", "b", "-c", "a")
    text = made.out.strip()
    assert made.code == 0
    assert text.startswith("attest_")
    assert "cannot be shown again" in made.err
    listed = json.loads(run("keys", "list", "--json").out)["keys"]
    assert [(key["id"], key["name"], key["access"]) for key in listed] == [
        (1, "nightly script", "write")
    ]
    assert listed[0]["collections"] == ["a", "b"]
    assert text not in json.dumps(listed)
    assert keys_of(settings, lambda keys: keys.of(text) is not None)
    revoked = run("keys", "revoke", "1")
    assert (revoked.code, "revoked" in revoked.out) == (0, True)
    assert keys_of(settings, lambda keys: keys.of(text) is None)
    assert run("keys", "revoke", "7").code == 1
    assert run("keys", "create", " ").code == 2


def test_a_key_as_json_has_its_text(run: Run, settings: Settings) -> None:
    made = json.loads(run("keys", "create", "reader", "--json").out)
    assert (made["access"], made["collections"]) == ("read", None)
    assert keys_of(settings, lambda keys: keys.of(made["key"]) is not None)


def test_there_are_no_keys_at_first(run: Run) -> None:
    assert "attest keys create NAME" in run("keys", "list").out


def test_a_password_is_set_and_taken_away(
    run: Run, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert run("password", "--stdin").code == 0
    assert keys_of(settings, lambda keys: is_password(keys, "correct horse"))
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    refused = run("password", "--stdin")
    assert (refused.code, "8 to 1000 characters" in refused.err) == (2, True)
    assert "no terminal" in run("password").err
    assert run("password", "--remove").code == 0
    assert not keys_of(settings, lambda keys: keys.guarded().password)

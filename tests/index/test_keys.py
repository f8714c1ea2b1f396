"""Keys, the password and sessions, as they are stored."""

from datetime import timedelta

import pytest

from index import Catalog
from index.errors import UnknownKey
from index.keys import Keys


@pytest.fixture
def keys(catalog: Catalog) -> Keys:
    return Keys(catalog.database)


def test_a_key_is_known_by_its_text_until_it_is_revoked(keys: Keys) -> None:
    key, text = keys.create("스크립트", "write", ["a", "b"])
    assert (key.name, key.access, key.collections) == ("스크립트", "write", ("a", "b"))
    found = keys.of(text)
    assert found is not None
    assert (found.id, found.used_at) == (key.id, None)
    assert keys.all()[0].used_at is not None
    assert keys.of(text[:-1]) is None
    assert keys.of("") is None
    assert keys.guarded().keys
    revoked = keys.revoke(key.id)
    assert revoked.revoked_at is not None
    assert keys.revoke(key.id).revoked_at == revoked.revoked_at
    assert keys.of(text) is None
    assert not keys.guarded().keys
    with pytest.raises(UnknownKey, match="no key 9"):
        keys.revoke(9)


def test_no_two_keys_are_alike(keys: Keys) -> None:
    texts = {keys.create("a", "read", None)[1] for _ in range(20)}
    assert len(texts) == 20
    assert all(len(text) > 40 for text in texts)
    assert keys.all()[0].collections is None


def test_a_session_ends_when_it_is_told_to_or_is_old(
    keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.set_password("hash")
    token = keys.begin_session()
    assert keys.in_session(token)
    assert not keys.in_session(token + "x")
    keys.end_session(token)
    assert not keys.in_session(token)
    monkeypatch.setattr("index.keys._LIVES", timedelta(seconds=-1))
    assert not keys.in_session(keys.begin_session())


def test_a_password_is_replaced_and_taken_away(keys: Keys) -> None:
    keys.set_password("one")
    token = keys.begin_session()
    keys.rehash("one", "uno")
    assert (keys.password(), keys.in_session(token)) == ("uno", True)
    keys.rehash("one", "two")
    assert keys.password() == "uno"
    keys.set_password("three")
    assert (keys.password(), keys.in_session(token)) == ("three", False)
    keys.set_password(None)
    assert keys.password() is None
    assert not keys.guarded().password

import pytest

from index import Catalog, Collection
from index.errors import UnknownCollection
from index.verify import verify
from tests.index.library import MODEL, document, vectors_of


@pytest.fixture
def stocked(collection: Collection, catalog: Catalog) -> Catalog:
    new = document("a", "pump", "crane")
    collection.add(new, vectors_of(new))
    return catalog


def _keep(catalog: Catalog, generator: str, threshold: float) -> None:
    fitted = {"threshold": threshold}
    catalog.calibrate("default", encoder=MODEL.fingerprint, generator=generator, fitted=fitted)


def test_each_pair_of_models_has_its_own_and_the_last_one_counts(stocked: Catalog) -> None:
    _keep(stocked, "", 0.5)
    _keep(stocked, "writer", 1.5)
    _keep(stocked, "", 0.75)
    found = stocked.calibration("default", encoder=MODEL.fingerprint, generator="")
    assert found is not None
    assert found.fitted == {"threshold": 0.75}
    assert found.made_at
    other = stocked.calibration("default", encoder=MODEL.fingerprint, generator="writer")
    assert other is not None
    assert other.fitted == {"threshold": 1.5}


def test_what_was_made_for_another_model_is_never_given(stocked: Catalog) -> None:
    _keep(stocked, "writer", 0.5)
    assert stocked.calibration("default", encoder=MODEL.fingerprint, generator="") is None
    assert stocked.calibration("default", encoder="another", generator="writer") is None


def test_those_of_many_models_do_not_pile_up(stocked: Catalog) -> None:
    for number in range(12):
        _keep(stocked, f"writer {number}", number)
    kept = [
        stocked.calibration("default", encoder=MODEL.fingerprint, generator=f"writer {number}")
        for number in range(12)
    ]
    assert [each is None for each in kept] == [True] * 2 + [False] * 10
    assert verify(stocked).problems == ()


def test_a_collection_that_is_not_there_cannot_be_calibrated(catalog: Catalog) -> None:
    with pytest.raises(UnknownCollection):
        _keep(catalog, "", 0.5)


def test_the_last_evaluations_are_kept_the_last_first(stocked: Catalog) -> None:
    for number in range(22):
        stocked.keep_evaluation("default", "retrieval", {"queries": number})
    kept = [one.figures["queries"] for one in stocked.evaluations("default")]
    assert kept == list(range(21, 1, -1))

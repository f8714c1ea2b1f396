import json
import re
from importlib import resources
from pathlib import Path

import pytest

from ui.locale import LANGUAGES, choose, texts

UI = Path(str(resources.files("ui")))
ENGLISH, KOREAN = (
    json.loads((UI / "locales" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("en", "ko")
)


def test_both_languages_have_the_same_keys_and_no_empty_value() -> None:
    assert sorted(ENGLISH) == sorted(KOREAN)
    assert all(value.strip() for value in [*ENGLISH.values(), *KOREAN.values()])


def test_both_languages_fill_in_the_same_values() -> None:
    for key, value in ENGLISH.items():
        assert set(re.findall(r"{\w+}", value)) == set(re.findall(r"{\w+}", KOREAN[key])), key


def test_korean_is_korean_throughout() -> None:
    assert [key for key, value in KOREAN.items() if not re.search("[가-힣]", value)] == []


def test_what_counts_has_both_numbers() -> None:
    stems = {key.removesuffix(".one") for key in ENGLISH if key.endswith(".one")}
    assert stems == {key.removesuffix(".other") for key in ENGLISH if key.endswith(".other")}


def test_no_word_is_left_over() -> None:
    files = (*UI.glob("*.py"), *UI.glob("static/*.html"))
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    plain = (key.removesuffix(".one").removesuffix(".other") for key in ENGLISH)
    families = (
        "tab.",
        "status.",
        "library.",
        "search.by.",
        "talks.",
        "support.",
        "confidence.",
        "why.",
        "care.",
        "reader.",
        "models.",
        "inspect.",
        "report.note.",
    )  # their last part is put in by the code
    unused = {key for key in plain if f'"{key}"' not in source and not key.startswith(families)}
    assert unused == set()


def test_values_are_filled_in_and_counted() -> None:
    assert texts("en").count("documents", 1) == "1 document"
    assert texts("en").count("documents", 1200) == "1,200 documents"
    assert texts("ko").count("documents", 1) == "문서 1건"
    assert texts("en")("page", n=3) == "page 3"


def test_braces_in_a_value_stay() -> None:
    assert texts("en")("search.similar.none", title="{n} {0}").count("{n} {0}") == 1


@pytest.mark.parametrize(
    ("setting", "chosen", "accepted", "expected"),
    [
        ("auto", None, None, "en"),
        ("auto", None, "ko-KR,ko;q=0.9,en-US;q=0.8", "ko"),
        ("auto", None, "en-GB,en;q=0.9,ko;q=0.8", "en"),
        ("auto", None, "de-DE,de;q=0.9,ko;q=0.4,en;q=0.7", "en"),
        ("auto", None, "fr,ko;q=0.2", "ko"),
        ("auto", None, "ko;q=0, en;q=0.1", "en"),
        ("auto", None, "*;q=0.5, nonsense;q=much, ;;", "en"),
        ("auto", "ko", "en-GB", "ko"),
        ("auto", "<script>", "ko", "ko"),
        ("en", "ko", "ko", "en"),
        ("ko", "en", "en", "ko"),
    ],
)
def test_the_operator_decides_then_the_switch_then_the_browser(
    setting: str, chosen: str | None, accepted: str | None, expected: str
) -> None:
    assert choose(setting, chosen, accepted) == expected
    assert expected in LANGUAGES

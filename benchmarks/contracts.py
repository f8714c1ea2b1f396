"""Contracts that are made up: facts planted, left out or worded otherwise, in several layouts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.contract_words import ENGLISH, FILLING, KINDS, KOREAN, NAMES, Fact, Half, Language

_LEFT_OUT = 0.35  # of the facts of a contract
_OTHERWISE = 0.25  # of those that are planted
_DECOYS = 0.6  # of the facts, planted or not, that something only sounds like
_FILLING = 6  # sentences


@dataclass(frozen=True, slots=True)
class Planted:
    """What a contract says on one question."""

    fact: str
    sentence: str  # verbatim in the text
    value: str
    manner: str  # plain, otherwise, label


@dataclass(frozen=True, slots=True)
class Contract:
    name: str  # of its file
    text: str
    language: Language
    layout: str
    planted: dict[str, Planted]  # by fact; what is not here was left out


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    sentences: tuple[str, ...]


def facts(language: Language) -> tuple[Fact, ...]:
    return ENGLISH if language == "en" else KOREAN


def contracts(n: int, language: Language, half: Half, rng: Random) -> list[Contract]:
    """So many contracts, in every layout in turn.

    Args:
        n: how many
        language: of their texts
        half: whose wordings they use
        rng: draws names, values and what is left out
    """
    layouts = list(_LAYOUTS)
    return [_contract(i, language, half, layouts[i % len(layouts)], rng) for i in range(n)]


def _contract(place: int, language: Language, half: Half, layout: str, rng: Random) -> Contract:
    planted, sections, lines = dict[str, Planted](), list[_Section](), list[str]()
    for fact in facts(language):
        worded = fact.worded(half)
        said = list[str]()
        if rng.random() >= _LEFT_OUT:
            made = _planted(fact, half, layout, rng)
            planted[fact.name] = made
            if made.manner == "label":
                lines.append(made.sentence)
            else:
                said.append(made.sentence)
        if rng.random() < _DECOYS:
            said.append(rng.choice(worded.decoys))
        rng.shuffle(said)
        if said:
            sections.append(_Section(fact.heading, tuple(said)))
    filling = rng.sample(FILLING[language], _FILLING)
    sections += [_Section("", tuple(filling[i : i + 2])) for i in range(0, _FILLING, 2)]
    rng.shuffle(sections)
    title = f"{rng.choice(KINDS[language])}: {' / '.join(rng.sample(NAMES[language], 2))}"
    text = _LAYOUTS[layout](title, sections, lines, language)
    name = f"contract-{language}-{place:02}.{'md' if layout == 'headed' else 'txt'}"
    return Contract(name, text, language, layout, planted)


def _planted(fact: Fact, half: Half, layout: str, rng: Random) -> Planted:
    worded, value = fact.worded(half), rng.choice(fact.values)
    if layout == "form" and rng.random() < 0.7:
        return Planted(fact.name, f"{worded.label}: {value}", value, "label")
    otherwise = rng.random() < _OTHERWISE
    template = rng.choice(worded.otherwise if otherwise else worded.plain)
    sentence = template.format(value)
    sentence = sentence[0].upper() + sentence[1:]
    return Planted(fact.name, sentence, value, "otherwise" if otherwise else "plain")


def _numbered(
    title: str, sections: Sequence[_Section], lines: Sequence[str], language: Language
) -> str:
    parts = [title, *lines]
    for number, section in enumerate(sections, 1):
        named = section.heading or ("General" if language == "en" else "일반 사항")
        head = f"{number}. {named}" if language == "en" else f"제{number}조 ({named})"
        parts.append("\n".join([head, " ".join(section.sentences)]))
    return "\n\n".join(parts) + "\n"


def _headed(
    title: str, sections: Sequence[_Section], lines: Sequence[str], language: Language
) -> str:
    parts = [f"# {title}", *lines]
    for section in sections:
        named = section.heading or ("General" if language == "en" else "일반 사항")
        parts.append(f"## {named}\n\n" + " ".join(section.sentences))
    return "\n\n".join(parts) + "\n"


def _letter(
    title: str, sections: Sequence[_Section], lines: Sequence[str], language: Language
) -> str:
    greeting = "Dear partner," if language == "en" else "안녕하십니까."
    said = [sentence for section in sections for sentence in section.sentences]
    paragraphs = [" ".join(said[i : i + 5]) for i in range(0, len(said), 5)]
    return "\n\n".join([title, greeting, *lines, *paragraphs]) + "\n"


def _form(
    title: str, sections: Sequence[_Section], lines: Sequence[str], language: Language
) -> str:
    rest = [sentence for section in sections for sentence in section.sentences]
    terms = "Further terms" if language == "en" else "기타 조건"
    return "\n".join([title, "", *lines, "", terms, "", *(f"- {line}" for line in rest)]) + "\n"


_LAYOUTS: dict[str, Callable[[str, Sequence[_Section], Sequence[str], Language], str]] = {
    "numbered": _numbered,
    "headed": _headed,
    "letter": _letter,
    "form": _form,
}

"""A name for a group: a phrase that its texts write, or a title that a writer gives it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from index.analysis import content_words, is_korean, terms
from rag.sentences import sentences
from rag.statements import gives_orders
from rag.topics import stem_of

if TYPE_CHECKING:
    from generator import Writer
    from rag.remote import RemoteWriter

_PARTS = 3  # of a label
_READ = 4_000  # characters of a text that are looked through for phrases
_LONGEST = 3  # words of a phrase
_OFTEN = 0.2  # of the texts that use a phrase which stands for all of them
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_BULLET = re.compile(r"\A[-*+•·–—]\s+")
_TITLE = 60  # characters
_SENTENCES = 200  # of a text that are looked at
_QUOTE = (25, 320)  # characters of a sentence that tells something and is read
_SYSTEM = (
    "You name groups of documents. Answer with a title of two to five words, in the language of "
    "the words, made of words that are given. No quotation marks, nothing else."
)


def label(words: Sequence[str], phrase: str | None, otherwise: str) -> str:
    """A phrase and the best words that it does not hold, or only words.

    Args:
        words: of the group, the most telling first
        phrase: that stands for many of its texts
        otherwise: what to say where there is neither
    """
    said = set() if phrase is None else {stem_of(word) for word in _WORD.findall(phrase.lower())}
    rest = [word for word in words if stem_of(word) not in said and word not in (phrase or "")]
    parts = ([] if phrase is None else [phrase]) + rest
    return ", ".join(parts[:_PARTS]) or otherwise


def phrase_of(texts: Sequence[str], words: Sequence[str]) -> str | None:
    """Two or three words in a row that many of the texts use, one of them telling at least."""
    telling = {stem_of(word): len(words) - at for at, word in enumerate(words)}
    used: Counter[tuple[str, ...]] = Counter()
    written: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for text in texts:
        own: Counter[tuple[str, ...]] = Counter()
        for key, surface in _phrases(text[:_READ]):
            if not telling.keys().isdisjoint(key):
                own[key] += 1
                written[key][surface] += 1
        used.update(own if len(texts) == 1 else own.keys())
    least = max(2, round(_OFTEN * len(texts)))
    common = {key: n for key, n in used.items() if n >= least and len(set(key)) > 1}
    if not common:
        return None

    def worth(key: tuple[str, ...]) -> tuple[float, tuple[str, ...]]:
        return -common[key] * sum(telling.get(stem, 0) for stem in key), key

    best = min(common, key=worth)
    forms = written[best]
    return min(forms, key=lambda form: (form.isupper(), -forms[form], form))


def telling_sentence(text: str, words: Sequence[str]) -> str:
    """The sentence that holds the most of a group's words, the earliest of equals."""
    wanted = {stem_of(word) for word in words}
    best, most = "", 0
    for start, end in sentences(text)[:_SENTENCES]:
        said = _BULLET.sub("", text[start:end])
        if not _QUOTE[0] <= len(said) <= _QUOTE[1] or gives_orders(said):
            continue
        held = len(wanted & {stem_of(word) for word in terms(said)})
        if held > most:
            best, most = said, held
    return best


def written_title(
    words: Sequence[str], quotes: Sequence[str], writer: "Writer | RemoteWriter"
) -> str | None:
    """A title of the writer's own; None where it says what the group does not."""
    from generator import Message, Sampling
    from rag import prompts
    from transformer.runtime import seeded

    asked = "\n".join([f"Words: {', '.join(words)}", *(f"- {quote}" for quote in quotes)])
    messages = [Message("system", _SYSTEM), Message("user", asked)]
    pieces = writer.stream(messages, Sampling(max_tokens=24), seeded(0))
    said = " ".join("".join(prompts.told(pieces)).split()).strip("\"'“”.# *")
    return said if is_borne_out(said, words, quotes) else None


def is_borne_out(title: str, words: Sequence[str], quotes: Sequence[str]) -> bool:
    """Whether a title is short and names nothing but what the group is known by."""
    own = set(content_words(title))
    known = set(content_words(" ".join([*words, *quotes])))
    return 0 < len(title) <= _TITLE and bool(own) and own <= known


def _phrases(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each phrase as the stems of its words, and as it is written."""
    run: list[tuple[int, int, str, bool]] = []
    found = list(_WORD.finditer(text))
    for word, following in pairwise([*found, None]):
        assert word is not None
        name = _named(word[0].lower())
        if name is not None:
            whole = len(name) == len(word[0])
            run.append((word.start(), word.start() + len(name), stem_of(name), whole))
            yield from _endings(run, text)
        joins = following is not None and text[word.end() : following.start()] == " "
        if name is None or not run[-1][3] or not joins:
            run.clear()


def _endings(
    run: Sequence[tuple[int, int, str, bool]], text: str
) -> Iterator[tuple[tuple[str, ...], str]]:
    for length in range(2, min(_LONGEST, len(run)) + 1):
        part = run[-length:]
        yield tuple(stem for _, _, stem, _ in part), text[part[0][0] : part[-1][1]]


@lru_cache(maxsize=65536)
def _named(word: str) -> str | None:
    """What of a word can stand in a name: all of it, or a Korean noun without its particle."""
    found = terms(word)
    if len(found) != 1 or not word.startswith(found[0]):
        return None
    return found[0] if is_korean(word) or found[0] == word else None

"""What counts as a word: the tokens of documents and queries, in English and Korean.

Hangul goes through Kiwi one space-separated word at a time. Out of its sentence a word costs a
quarter of a point of nDCG (93.3 against 93.6 on 114 Korean questions over 720 pages) and buys a
cache, less than half the time, and that a query's word is cut as the document's word was.
"""

import re
import threading
import unicodedata
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple

import Stemmer

from index.stopwords import ENGLISH, ENGLISH_WIDE, KOREAN

if TYPE_CHECKING:
    from kiwipiepy import Kiwi

_HANGUL = re.compile(r"[가-힣]")
_LETTER = r"[^\W_가-힣\u1100-\u11ff]"  # a letter or digit of any script but Hangul and its jamo
_PIECE = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d|,\d)"  # 1,234,567.8
    rf"|{_LETTER}+(?:[-_./']{_LETTER}+)*"  # a word, a number, a code with its joints
)
_PART = re.compile(r"\d+|[^\W\d_]+")
_DECIMAL = re.compile(r"\d+\.\d+")

# Nouns, counters, numerals, roots, verb and adjective stems, and what Kiwi cannot name.
# Particles, endings, affixes, pronouns, determiners and adverbs are left out.
_CONTENT_TAGS = ("NNG", "NNP", "NNB", "NR", "XR", "VV", "VA", "UN")
_NOUN_TAGS = ("NNG", "NNP")
_INFLECTING_SUFFIXES = frozenset("들님적씩쯤째")  # all other suffixes belong to their noun

# Quotation marks come between a word and its particle, (주) is "Inc.": both mislead Kiwi.
_QUOTES = str.maketrans("", "", "\"'“”‘’「」『』《》〈〉`")
_EDGES = ".,;:!?…·~*#-_|"

_lock = threading.Lock()  # neither Kiwi nor a Stemmer promises to be shared between threads
_stemmer = Stemmer.Stemmer("english", 0)
_kiwi: "Kiwi | None" = None


class _Morpheme(NamedTuple):
    form: str
    tag: str
    start: int
    end: int


def tokens(text: str) -> list[str]:
    """The words of a document or a query as BM25 counts them, repeated as often as they occur."""
    found: list[str] = []
    for word in _normalise(text).split():
        for piece in _PIECE.findall(word):
            found.extend(_piece_tokens(piece))
        if _HANGUL.search(word):
            found.extend(m.form for m in _morphemes(word) if m.tag.startswith(_CONTENT_TAGS))
    return found


def version() -> str:
    """Names what `tokens` makes of a text: an index of other tokens has to be built anew."""
    return f"1-kiwi{metadata.version('kiwipiepy_model')}"


def content_words(text: str) -> list[str]:
    """The tokens that carry meaning: without the function words of both languages."""
    return [token for token in tokens(text) if token not in _stop_tokens()]


def terms(text: str) -> list[str]:
    """Readable words for labels: lower-case Latin words, Korean nouns without their particles.

    Neighbouring nouns of one written word stay together (인공지능이 gives 인공지능). Numbers are
    left out, codes stay whole.
    """
    found: list[str] = []
    for word in _normalise(text).split():
        pieces = (piece.removesuffix("'s") for piece in _PIECE.findall(word))
        found.extend(piece for piece in pieces if len(piece) > 1 and _is_term(piece))
        if _HANGUL.search(word):
            found.extend(noun for noun in _nouns(word) if noun not in KOREAN)
    return found


def is_korean(text: str) -> bool:
    """Whether there is any Hangul syllable in the text, composed or not."""
    return _HANGUL.search(unicodedata.normalize("NFC", text)) is not None


def _normalise(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'")


@lru_cache(maxsize=32768)
def _piece_tokens(piece: str) -> tuple[str, ...]:
    """A code is found by itself and by each part: qx-808 by qx-808, qx and 808."""
    if "," in piece:
        piece = piece.replace(",", "")
    if _DECIMAL.fullmatch(piece):
        return (piece,)
    word = piece.removesuffix("'s")
    parts = _PART.findall(word)
    if "'" in word or len(parts) < 2:
        return _stemmed(word)
    return (word, *(token for part in parts for token in _stemmed(part)))


def _stemmed(word: str) -> tuple[str, ...]:
    if word in ENGLISH:
        return ()
    with _lock:
        return (str(_stemmer.stemWord(word)),)


def _is_term(piece: str) -> bool:
    return piece not in ENGLISH_WIDE and not piece.replace(",", "").replace(".", "").isdigit()


@lru_cache(maxsize=1)
def _stop_tokens() -> frozenset[str]:
    return KOREAN.union(*(_stemmed(word) for word in ENGLISH_WIDE))


def _nouns(word: str) -> list[str]:
    """Nouns of a written word, those that touch joined into one, with their suffixes."""
    nouns: list[str] = []
    end = -1
    for morpheme in _morphemes(word):
        touches = bool(nouns) and morpheme.start == end
        suffix = morpheme.tag == "XSN" and morpheme.form not in _INFLECTING_SUFFIXES
        if touches and (suffix or morpheme.tag.startswith(_NOUN_TAGS)):
            nouns[-1] += morpheme.form
        elif morpheme.tag.startswith(_NOUN_TAGS):
            nouns.append(morpheme.form)
        else:
            continue
        end = morpheme.end
    return nouns


def _morphemes(word: str) -> tuple[_Morpheme, ...]:
    """The morphemes of a written word that are spelt in Hangul, in order.

    The word goes in with its Latin parts, because a particle is known by what it follows
    (QX-808이다).
    """
    return _analysed(word.replace("(주)", "").translate(_QUOTES).strip(_EDGES))


@lru_cache(maxsize=32768)
def _analysed(word: str) -> tuple[_Morpheme, ...]:
    with _lock:
        # No option turns #서울 or an address into one opaque token; split_complex takes the
        # dictionary's compounds apart, so that they are found by their parts.
        found = _loaded_kiwi().tokenize(word, match_options=0, split_complex=True)
    return tuple(
        _Morpheme(token.form, token.tag, token.start, token.end)
        for token in found
        if _HANGUL.search(token.form)
    )


def _loaded_kiwi() -> "Kiwi":
    """The one shared analyser: half a second and 290 MB, so only once Hangul is met.

    Without its dictionary of multi-word names it finds as much (both 93.1) in 180 MB less.
    """
    global _kiwi
    if _kiwi is None:
        from kiwipiepy import Kiwi

        _kiwi = Kiwi(num_workers=1, load_multi_dict=False)
    return _kiwi

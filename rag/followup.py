"""A follow-up made to stand by itself, so that what it leaves out is looked for too.

Rules do it: what is asked of anew takes its like's place in the question before ("and in 2022?",
그럼 병가는?), a pronoun gets the name that it stands for, and where neither is plain, what the
question before was about goes along in brackets. Earlier turns are never pasted in whole. A
message that stands by itself is left as it is.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from index.analysis import content_words, is_korean
from rag.periods import ENGLISH, KOREAN

_OPENING = re.compile(
    r"^(?:(?:and|but|so|also|ok(?:ay)?|then|now)[, ]+)*(?:what|how) about\s+(?:if\s+)?"
    r"|^(?:(?:and|but|also)[, ]+)+(?:then\s+)?"
    r"|^(?:그럼|그러면|그렇다면|그리고|그런데|근데|또|혹시)[, ]+",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:(?P<whose>its|their|theirs|his|her)|it|they|them|he|she|these|those(?! (?:who|that))"
    r"|this(?= (?:one|device|product|document|policy|case)\b|[?.!]|$| (?:is|was|does|cost"
    r"|mean|apply))"
    r"|that(?= one\b|[?.!]|$| (?:is|was|does|cost|mean|apply)\b)"
    r"|the (?:same|former|latter)(?: one)?|there(?=[?.!]|$)|the (?:first|second|other) one)\b",
    re.IGNORECASE,
)
_EMPTY_IT = re.compile(  # "Is it allowed to park here?": it stands for nothing before
    r"\b(?:is|was|does|will|would|can|has)\s+it\b.*\b(?:to|that|if|when)\b"
    r"|\bit(?:'s| is| was| takes| took)\b.*\b(?:to|that)\b|\bthere (?:is|are|was|were)\b",
    re.IGNORECASE,
)
_KO_PRONOUN = re.compile(
    r"(?:^|\s)(?:그것|이것|그거|이거|그건|이건|그게|이게|거기|여기|그곳|그때|그중|그 중"
    r"|그 사람|그들|해당"
    r"|같은 거|그 (?:제품|기기|문서|규정|경우|회사|장비|모델))(?:에서|에는|에도|에|은|는|이"
    r"|가|을|를|의|도|부터|까지)?"
    r"(?=\s|[?.!]|$)"
)
_BARE = re.compile(  # nothing but what is asked for
    r"(?:why(?: not)?|when|where|who|how(?: (?:much|many|long|often|far|come|so|exactly))?"
    r"|since when"
    r"|until when|by whom|which one|what else|anything else|and then|what then|really)\s*[?.!]*"
    r"|(?:왜|언제|어디(?:서|에서)?|누가|누구|얼마(?:야|예요|인가요|나)?|며칠|몇 (?:개|명|번)"
    r"|어떻게|언제까지"
    r"|언제부터|어떤 거|또|또 뭐|더 있어)(?:야|요|예요|이야|인가요|입니까|죠|지|나요|해"
    r"|하나요)?\s*[?.!]*",
    re.IGNORECASE,
)
_LEAD = re.compile(  # a question's head, in front of what it is about
    r"^(?:please )?(?:tell me |show me |explain )?"
    r"(?:(?:what|which|who|whom|whose|when|where|why|how(?: (?:many|much|long|far|often|old"
    r"|big|soon))?)\b"
    r"(?:'s)?\s*)?(?:(?:is|are|was|were|do|does|did|can|could|should|must|may|will|would|has|have|had)"
    r"\s+)?",
    re.IGNORECASE,
)
_SLOT = re.compile(  # "for batteries", "in Daejeon"
    r"(?P<how>in|at|for|on|from|with|without|by|under|over|after|before|during|of)\s+(?P<what>.+)",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b[A-Z]{1,4}[- ]?\d{1,5}(?:[-/][A-Z0-9]+)*\b")
_NAME = re.compile(r"[“\"‘]([^”\"’]+)[”\"’]|\b[A-Z]{1,4}[- ]?\d{1,5}(?:[-/][A-Z0-9]+)*\b"
                   r"|(?<=[\w,] )[A-Z][\w-]+(?: [A-Z][\w-]+)*")  # fmt: skip
_EN_TIME, _KO_TIME = (re.compile(p, re.IGNORECASE) for p in (rf"\b{ENGLISH}", KOREAN))
_WEEKDAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|[월화수목금토일]요일|주말|평일",
    re.IGNORECASE,
)
_KO_TOPIC = re.compile(r"(?P<word>[^\s?]+?)(?P<particle>에서는|에는|으로는|로는|은|는)(?=\s)")
_KO_ASKED = re.compile(
    r"(?P<word>[^?]{1,40}?)(?P<particle>에서는|에는|으로는|로는|은|는|도)?(?:요)?\s*[?.!]*"
)
_KO_ASKS = re.compile(
    r"(?:^|(?<=\s))(?:왜|언제|어디|누가|누구|얼마|며칠|어떻게|몇\s?\S+)(?:나|까지|부터|에서|서|에|로|한테|에게)?"
    r"(?=\s|$)"
)
_KO_DOES = re.compile(  # a predicate, by its ending
    r"(?:나요|가요|니까|세요|어요|아요|해요|려요|돼요|어|아|해|야|지|죠|까|니|려|돼|와|워|며|면|고)\Z"
)
_SHORT = 4  # content words of a follow-up that only names something
_ABOUT = 12  # words that go along in brackets


def standalone(question: str, earlier: Sequence[str]) -> str:
    """The question as it would be asked alone; itself where it is no follow-up.

    Args:
        question: the last one
        earlier: those before it, the first asked first; small talk left out
    """
    asked = ""
    for one in (*earlier, question):
        one = " ".join(unicodedata.normalize("NFC", one).split())
        asked = _completed(one, asked) if asked else one
    return asked


def is_followup(question: str) -> bool:
    """Whether a question leaves something out that a question before it said."""
    text = " ".join(unicodedata.normalize("NFC", question).split())
    if _BARE.fullmatch(text):
        return True
    opened = _OPENING.match(text)
    rest = text[opened.end() :] if opened else text
    if is_korean(text):
        return _ko_followup(text, rest, opened is not None)
    if opened and (len(content_words(rest)) <= _SHORT or not _verbal(rest)):
        return True
    if _pronouns(rest):
        return True
    slot = _SLOT.fullmatch(rest.rstrip("?!. "))
    return slot is not None and len(content_words(rest)) <= _SHORT and text.endswith("?")


def _pronouns(text: str) -> list[re.Match[str]]:
    """Those that stand for something said before."""
    empty = _EMPTY_IT.search(text) is not None
    return [found for found in _PRONOUN.finditer(text) if not empty or found[0].lower() != "it"]


def _ko_followup(text: str, rest: str, opened: bool) -> bool:
    if _KO_PRONOUN.search(text):
        return True
    asked = _KO_ASKED.fullmatch(rest)
    named = asked is not None and asked["particle"] is not None and len(rest.split()) <= 3
    if named and text.rstrip().endswith("?"):
        return True  # 병가는?, 2022년에는요?
    return (opened and len(content_words(rest)) <= 2) or _without_subject(rest)


def _without_subject(text: str) -> bool:
    """Whether a Korean question is all predicate: 언제까지 신청해야 해?"""
    words = _KO_ASKS.sub(" ", text.rstrip("?!. ")).split()
    return text.rstrip().endswith("?") and len(words) <= 2 and all(map(_KO_DOES.search, words))


def _verbal(rest: str) -> bool:
    """Whether there is a whole question behind an opening "and"."""
    return _LEAD.match(rest) is not None and bool(_LEAD.match(rest)[0].strip())  # type: ignore[index]


def _completed(question: str, before: str) -> str:
    if not is_followup(question):
        return question
    korean = is_korean(question)
    opened = _OPENING.match(question)
    rest = question[opened.end() :] if opened else question
    named = rest.strip().rstrip("?!. ")
    if korean != is_korean(before):
        return _with_subject(rest, before)
    if (replaced := _in_place(named, before)) is not None:
        return replaced
    if korean:
        return _ko_in_place(rest, before) or _with_subject(rest, before)
    return _en_in_place(named, rest, before) or _with_subject(rest, before)


def _in_place(named: str, before: str) -> str | None:
    """The question before, with its only date, weekday or code replaced by one of the same kind."""
    if len(content_words(named)) > _SHORT:
        return None
    for kind in (_EN_TIME, _KO_TIME, _WEEKDAY, _CODE):
        new, old = list(kind.finditer(named)), list(kind.finditer(before))
        if len(new) == len(old) == 1 and not _more(named, new[0]):
            return before[: old[0].start()] + new[0][0] + before[old[0].end() :]
    if lettered := re.fullmatch(r"(?:the )?(?P<head>[a-z]+) (?:[A-Z]|\d{1,3})", named):
        old = list(re.finditer(rf"\b{lettered['head']} (?:[A-Z]|\d{{1,3}})\b", before))
        if len(old) == 1:
            return before[: old[0].start()] + named.removeprefix("the ") + before[old[0].end() :]
    return None


def _more(named: str, found: re.Match[str]) -> bool:
    """Whether a follow-up says anything of its own beside the date or code in it."""
    rest = named[: found.start()] + " " + named[found.end() :]
    rest = re.sub(
        r"\b(?:in|on|at|for|the|of|since|during)\b|에서는|에는|에도|에|은|는|도|의", " ", rest
    )
    return bool(rest.strip())


def _en_in_place(named: str, rest: str, before: str) -> str | None:
    """ "for batteries?" in place of what the question before has behind "for", else at its end."""
    body = before.rstrip("?!. ")
    if slot := _SLOT.fullmatch(named):
        phrase = re.escape(slot["how"])
        old = re.search(
            rf"\b{phrase}\s+(?:(?:the|a|an|our|my)\s+)?[\w-]+(?:\s+[\w-]+)?$", body, re.I
        )
        return f"{body[: old.start()] if old else body + ' '}{named}?"
    names = list(dict.fromkeys(found[0].strip('“”"‘’') for found in _NAME.finditer(body)))
    pronouns = _pronouns(rest)
    if len(names) == 1 and len(pronouns) == 1 and pronouns[0][0].lower() != "there":
        name = names[0] if _CODE.fullmatch(names[0]) is None else f"the {names[0]}"
        whose = "'s" if pronouns[0]["whose"] else ""
        return f"{rest[: pronouns[0].start()]}{name}{whose}{rest[pronouns[0].end() :]}"
    return None


def _ko_in_place(rest: str, before: str) -> str | None:
    """병가는? takes the place of the last word that the question before has as its topic."""
    asked = _KO_ASKED.fullmatch(rest)
    topics = list(_KO_TOPIC.finditer(before))
    if asked is None or asked["particle"] is None or not topics or _KO_PRONOUN.search(rest):
        return None
    old = topics[-1]
    left_out = "" if before[: old.start()].strip() else f" ({old['word']})"
    new = asked["word"] + asked["particle"]
    return before[: old.start()] + new + before[old.end() :] + left_out


def _with_subject(rest: str, before: str) -> str:
    """The follow-up with what the question before was about, in brackets."""
    held = set(content_words(rest))
    about = list(_about(before, held))[:_ABOUT]
    subject = " ".join(about)
    return f"{rest} ({subject})" if subject else rest


def _about(before: str, held: set[str]) -> Iterator[str]:
    """The words of a question that say what it is about, without those said again."""
    body = before.rstrip("?!. ")
    if not is_korean(before):
        body = body[_LEAD.match(body).end() :]  # type: ignore[union-attr]
    for word in re.sub(r"[()]", " ", body).split():
        words = set(content_words(word))
        if is_korean(before):
            if words and not words <= held and not _KO_VERBAL.search(word):
                yield _KO_PARTICLE.sub("", word)
        elif not words or not words <= held:
            yield word


_KO_VERBAL = re.compile(
    r"(?:나요|가요|니까|어|아|야|해|지|죠|까|며칠|얼마|몇)\Z|^(?:몇|얼마|며칠|언제|어디|누가)"
)
_KO_PARTICLE = re.compile(
    r"(?<=[\w가-힣])(?:에서는|에서|에게|으로|까지|부터|에는|은|는|이|가|을|를|에|로|와|과|도)\Z"
)

"""How well the documents support a sentence of an answer."""

from typing import Literal

from rag.records import Answer
from rag.support import ALMOST_ALL, borne_out

Strength = Literal["strong", "weak", "none"]
Span = tuple[int, int]


def strengths(answer: Answer) -> dict[Span, Strength]:
    """Of each sentence that was checked, by its span in the answer, in order.

    A sentence is strong where a source says the same, word for word or nearly so, and the
    generator's likelihoods do not speak against every one of its sources; weak where only parts of
    it stand in a source; and none where no source bears it out.
    """
    cited = {(each.answer_start, each.answer_end) for each in answer.citations}
    of: dict[Span, Strength] = dict.fromkeys(answer.unsupported, "none")
    of |= {span: _cited(answer, span) for span in cited}
    return dict(sorted(of.items()))


def _cited(answer: Answer, span: Span) -> Strength:
    said = answer.answer[slice(*span)]
    sources = [each for each in answer.citations if (each.answer_start, each.answer_end) == span]
    same = any(
        said.strip() in each.quote or borne_out(said, each.quote, enough=ALMOST_ALL)
        for each in sources
    )
    certificates = [each.certificate for each in sources if each.certificate is not None]
    doubted = len(certificates) == len(sources) and not any(
        each.necessary or each.sufficient for each in certificates
    )
    return "strong" if same and not doubted else "weak"

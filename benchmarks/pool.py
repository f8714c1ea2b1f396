"""The passages of many documents, in which whoever makes data finds what misleads."""

from collections import defaultdict
from collections.abc import Sequence

from benchmarks.grounded_sources import Asked, Passage
from benchmarks.ranking import Ranking


class Pool:
    """Passages by shared words, and by document."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self.ranking = Ranking([passage.text for passage in passages])
        self.of_document: dict[str, list[Passage]] = defaultdict(list)
        for passage in passages:
            self.of_document[passage.document].append(passage)

    def misleading(self, question: str, barred: Sequence[Asked], k: int) -> list[Passage]:
        """Of the k passages that share most with a question, those that answer none of `barred`."""
        found = [self._passages[i] for i in self.ranking.best(question, k)]
        return [each for each in found if not any(one.may_answer(each) for one in barred)]

"""The page before the first question: what can be asked of these documents."""

import logging
from collections.abc import Sequence
from threading import Event, Lock, Thread

from markupsafe import Markup

from index.analysis import is_korean
from index.records import StoredDocument
from rag.assistant import Assistant
from rag.examples import examples
from ui import render
from ui.locale import Language, Texts

_EXAMPLES = 4
_PATIENCE_S = 0.3  # that a page waits for examples, which take as long as some answers

_log = logging.getLogger(__name__)

State = tuple[int, ...]  # ids of the documents that examples were made of


class Examples:
    """Questions that the library answers, found once for each state of it, beside the page."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[tuple[str, Language], tuple[State, Event, list[str]]] = {}

    def of(
        self, attest: Assistant, documents: Sequence[StoredDocument], language: Language
    ) -> list[str]:
        """Those that are found; until then titles to ask about."""
        state, key = tuple(row.id for row in documents), (attest.settings.collection, language)
        with self._lock:
            known = self._found.get(key)
            if known is None or known[0] != state:
                known = (state, Event(), [])
                self._found[key] = known
                given = (attest, language, known[1], known[2])
                Thread(target=self._find, args=given, daemon=True).start()
        known[1].wait(_PATIENCE_S)
        return list(known[2])

    def _find(self, attest: Assistant, language: Language, done: Event, into: list[str]) -> None:
        try:
            into += examples(attest, korean=language == "ko", n=_EXAMPLES)
        except Exception:
            _log.exception("no example questions could be made")
        finally:
            done.set()


def greeting(documents: Sequence[StoredDocument], words: Texts, made: Sequence[str] = ()) -> Markup:
    """What the page says before the first question.

    Args:
        documents: that can be asked
        words: of the page
        made: questions that they answer; where there are too few, titles are asked about
    """
    if not documents:
        button = Markup('<button type="button" class="a-primary" data-tab="library">{}</button>')
        return render.notice(
            words("ask.empty.title"),
            words("ask.empty.lead"),
            more=button.format(words("ask.empty.button")),
        )
    head = render.headline(words("ask.title"), words.count("ask.lead", len(documents)))
    head += render.pending(sum(row.pending for row in documents), words)
    asked = list(dict.fromkeys([*made, *by_title(documents, words)]))[:_EXAMPLES]
    cards = render.joined(
        Markup(
            '<li><button type="button" data-send="{0}" data-do="example">{0}</button></li>'
        ).format(question)
        for question in asked
    )
    return Markup('{}<h2 class="a-small">{}</h2><ul class="a-examples">{}</ul>').format(
        head, words("ask.examples"), cards
    )


def by_title(documents: Sequence[StoredDocument], words: Texts) -> list[str]:
    """A question about each of some documents, first those in the reader's language."""
    titles = list(dict.fromkeys(row.title for row in documents))
    named = [title for title in titles if " " in title] or titles  # others are file names
    korean = words.language == "ko"
    own = [title for title in named if is_korean(title) == korean] or named
    spread = own[:: max(1, len(own) // _EXAMPLES)][:_EXAMPLES]
    return [words("ask.example", title=title) for title in spread]

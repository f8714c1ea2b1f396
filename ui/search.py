"""The Search tab: passages by meaning and words, and documents like a document."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from markupsafe import Markup

from rag.assistant import Assistant
from rag.records import Hit, SearchResult
from ui import render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import CLICKS, DIRECT, STREAMED

_HITS = 10
_SHORT, _LINES = 560, 7  # characters and lines that are shown without a switch

Updates = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What the tab shows: hits for a query, or for the document that others are like."""

    asked: str  # the query, or the document's title
    similar: bool = False
    result: SearchResult | None = None
    failure: str | None = None


class SearchTab:
    """Components and what they do. What was found lives in its session's state alone."""

    def __init__(self, assistant: Assistant, language: gr.Radio) -> None:
        self._assistant = assistant
        self.found = gr.State(None)
        self._head = gr.HTML(elem_id="a-search-head", apply_default_css=False)
        with gr.Row(elem_id="a-search-bar"):
            self._query = gr.Textbox(value="", lines=1, container=False, scale=1, elem_id="a-query")
            self._go = gr.Button(variant="primary", size="sm", scale=0, elem_id="a-go")
        self._hits = gr.HTML(elem_id="a-hits", apply_default_css=False, js_on_load=CLICKS)
        shown = [self.found, self._hits]
        gr.on(
            [self._query.submit, self._go.click],
            self.search,
            [self._query, language],
            shown,
            **STREAMED,
        )
        self._hits.click(self.similar, language, shown, **DIRECT)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._query, self._go, self._hits]

    def face(self, words: Texts, found: Found | None) -> Updates:
        """The tab in a language."""
        prompt = words("search.placeholder")
        return {
            self._head: render.headline(words("search.title"), words("search.lead")),
            self._query: gr.update(placeholder=prompt, label=prompt),
            self._go: gr.update(value=words("search.button")),
            self._hits: results(found, words),
        }

    def search(self, query: str, language: Language) -> Iterator[Updates]:
        query, words = query.strip(), texts(language)
        if not query:
            yield self._shown(None, words)
            return
        yield {self._hits: render.waiting(words("search.searching"))}
        yield self._shown(
            _found(query, lambda: self._assistant.search(query, k=_HITS), words), words
        )

    def similar(self, language: Language, event: gr.EventData) -> Updates:
        """Documents like the one whose button was pressed, which sends its id and title."""
        key, title = event._data["value"], str(event._data["title"])
        words = texts(language)

        def look() -> SearchResult:
            # A name could be the path of any file here: from a browser, only an id is taken.
            return self._assistant.similar(int(key), k=_HITS)

        return self._shown(_found(title, look, words, similar=True), words)

    def _shown(self, found: Found | None, words: Texts) -> Updates:
        return {self.found: found, self._hits: results(found, words)}


def _found(
    asked: str, look: Callable[[], SearchResult], words: Texts, *, similar: bool = False
) -> Found:
    try:
        return Found(asked, similar, look())
    except Exception as error:
        return Found(asked, similar, failure=explained(error, words))


def results(found: Found | None, words: Texts) -> Markup:
    """What was found, or why there is nothing to see."""
    if found is None:
        return Markup("")
    if found.result is None:
        return render.failure(found.failure or words("error.unexpected"), words)
    if found.similar:
        return _documents(found.asked, found.result.hits, words)
    return _passages(found.asked, found.result.hits, words)


def _passages(query: str, hits: Sequence[Hit], words: Texts) -> Markup:
    """Hits for a query, with its words marked and both parts of each score."""
    if not hits:
        lead = words("search.none.lead", query=query)
        return render.notice(words("search.none.title"), lead)
    by_meaning = any(hit.dense is not None for hit in hits)
    most = max(hit.lexical or 0.0 for hit in hits)
    cards = []
    for hit in hits:
        text = _text(hit)
        scores = _words_score(hit, most, words)
        if by_meaning:
            scores = _meaning(hit, words) + scores
        cards.append(_card(hit, render.marked(text, render.matching(query, text)), scores, words))
    head = words.count("search.hits", len(hits), query=query)
    note = "" if by_meaning else words("search.words_only")
    return _listed(head, note, cards, words("search.explained"))


def _documents(title: str, hits: Sequence[Hit], words: Texts) -> Markup:
    """Documents like another one, each with its passage that matches best."""
    if not hits:
        lead = words("search.similar.none", title=title)
        return render.notice(words("search.none.title"), lead)
    cards = [
        _card(
            hit,
            render.marked(_text(hit), ()),
            _score(words("search.likeness"), f"{hit.score:.2f}", hit.score),
            words,
        )
        for hit in hits
    ]
    head = words.count("search.similar", len(hits), title=title)
    return _listed(head, "", cards, words("search.explained.similar"))


def _listed(head: str, note: str, cards: Sequence[Markup], explanation: str) -> Markup:
    return Markup(
        '<h2 class="a-found">{}</h2>{}<ol class="a-hits">{}</ol><p class="a-explained">{}</p>'
    ).format(
        head,
        Markup('<p class="a-notes">{}</p>').format(note) if note else "",
        render.joined(cards),
        explanation,
    )


def _card(hit: Hit, text: Markup, scores: Markup, words: Texts) -> Markup:
    chunk = hit.chunk
    return Markup(
        '<li class="a-hit"><h3 class="a-cut" title="{title}">{title}</h3>{place}'
        '<div class="a-text">{text}</div>{more}'
        '<div class="a-hit-foot"><dl class="a-scores">{scores}</dl>'
        '<button type="button" class="a-link" data-send="{id}" data-title="{title}">{like}</button>'
        "</div></li>"
    ).format(
        title=chunk.document.title,
        place=render.place(chunk.document, chunk.page, chunk.heading, words),
        text=text,
        more=_more(_text(hit), words),
        scores=scores,
        id=chunk.document.id,
        like=words("search.similar"),
    )


def _text(hit: Hit) -> str:
    return render.flowed(hit.chunk.text.strip())


def _more(text: str, words: Texts) -> Markup:
    """A switch between the first lines of a passage and all of it, where that is more."""
    if len(text) < _SHORT and text.count("\n") < _LINES:
        return Markup("")
    return render.unfolding(words("more.passage"), words)


def _meaning(hit: Hit, words: Texts) -> Markup:
    value = words("search.not_near") if hit.dense is None else f"{hit.dense:.2f}"
    return _score(words("search.meaning"), value, hit.dense or 0.0)


def _words_score(hit: Hit, most: float, words: Texts) -> Markup:
    value = words("search.no_words") if hit.lexical is None else f"{hit.lexical:.1f}"
    return _score(words("search.words"), value, (hit.lexical or 0.0) / (most or 1.0))


def _score(name: str, value: str, share: float) -> Markup:
    """A named score with a bar that is filled to a share of 1."""
    width = round(100 * min(1.0, max(0.0, share)))
    return Markup(
        '<div><dt>{}</dt><dd><i class="a-bar"><i style="width:{}%"></i></i>{}</dd></div>'
    ).format(name, width, value)

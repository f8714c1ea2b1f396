"""The Search tab: passages by meaning and words, and documents like a passage or a document."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from rag import hits_file
from rag.assistant import Assistant
from rag.downloads import write_aside
from rag.records import EVERYWHERE, Hit, SearchResult
from rag.similar import Similar
from ui import filters, pairs, render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.markdown import marks_of, shown
from ui.theme import CLICKS, DIRECT, FILTERED, KEEPS, STREAMED

_HITS = 10
_SHORT, _LINES = 560, 7  # characters and lines that are shown without a switch

Updates = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What the tab shows: hits for a query, or for the document that others are like."""

    asked: str  # the query, or the document's title
    result: SearchResult | None = None
    failure: str | None = None
    narrowed: bool = False  # to some documents


class SearchTab:
    """Components and what they do. What was found lives in its session's state alone."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        self.found = gr.State(None)
        self._head = gr.HTML(elem_id="a-search-head", apply_default_css=False)
        with gr.Row(elem_id="a-search-bar"):
            self._query = gr.Textbox(value="", lines=1, container=False, scale=1, elem_id="a-query")
            self._go = gr.Button(variant="primary", size="sm", scale=0, elem_id="a-go")
        with gr.Row(elem_id="a-search-more"):
            self.form = gr.HTML(elem_id="a-filters", apply_default_css=False, js_on_load=KEEPS)
            # What it shows is there already: page.css hides it until it is wanted.
            self._explain = gr.Checkbox(scale=0, interactive=True, elem_id="a-explain")
        self._chosen = gr.JSON(visible=False)  # in the form, as FILTERED tells it
        self._hits = gr.HTML(elem_id="a-hits", apply_default_css=False, js_on_load=CLICKS)
        with gr.Row(elem_id="a-search-files"):
            self._files = {
                kind: gr.DownloadButton(
                    size="sm", scale=0, visible=False, elem_id=f"a-search-{kind}"
                )
                for kind in ("json", "csv")
            }
        seen = [self.found, self._hits, *self._files.values()]
        gr.on(
            [self._query.submit, self._go.click],
            self.search,
            [self._query, self._chosen, place, language],
            seen,
            js=FILTERED,
            **STREAMED,
        )
        self._hits.click(self.similar, [place, language], seen, **DIRECT)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._head, self._query, self._go, self.form, self._explain, self._hits,
                *self._files.values()]  # fmt: skip

    def face(self, words: Texts, place: str, found: Found | None) -> Updates:
        """The tab in a language."""
        prompt = words("search.placeholder")
        return {
            self._head: render.headline(words("search.title"), words("search.lead")),
            self._query: gr.update(placeholder=prompt, label=prompt),
            self._go: gr.update(value=words("search.button")),
            **self.refresh(place, words.language),
            self._explain: gr.update(label=words("search.explain")),
            self._hits: results(found, words),
            **{
                button: gr.update(label=words("search.download", kind=kind.upper()))
                for kind, button in self._files.items()
            },
        }

    def refresh(self, place: str, language: Language) -> Updates:
        """What the form offers, over the documents that there are now."""
        return {self.form: filters.form(self._assistant.at(place).documents(), texts(language))}

    def search(
        self, query: str, chosen: dict[str, object] | None, place: str, language: Language
    ) -> Iterator[Updates]:
        query, words, attest = query.strip(), texts(language), self._assistant.at(place)
        if not query:
            yield self._shown(None, words)
            return
        yield {self._hits: render.waiting(words("search.searching"))}
        within = filters.within(chosen)

        def look() -> SearchResult:
            return attest.search(query, k=_HITS, within=within, explain=True)

        found = _found(query, look, words)
        yield self._shown(replace(found, narrowed=within != EVERYWHERE), words)

    def similar(self, place: str, language: Language, event: gr.EventData) -> Updates:
        """Documents like the passage or the document whose button was pressed.

        It sends an id, a title, and of what the id is.
        """
        key, title = int(event._data["value"]), str(event._data["title"])
        words, passage = texts(language), event._data.get("of") == "passage"
        attest = self._assistant.at(place)

        def look() -> SearchResult:
            # A name could be the path of any file here: from a browser, only an id is taken.
            if passage:
                return attest.similar_to_passage(key, k=_HITS)
            return attest.similar(key, k=_HITS)

        return self._shown(_found(title, look, words), words)

    def _shown(self, found: Found | None, words: Texts) -> Updates:
        result = None if found is None else found.result
        return {self.found: found, self._hits: results(found, words), **self._written(result)}

    def _written(self, result: SearchResult | None) -> Updates:
        """The hits as files, where there are any."""
        if result is None or not result.hits:
            return {button: gr.update(visible=False) for button in self._files.values()}
        folder = Path(tempfile.mkdtemp(dir=self._files["csv"].GRADIO_CACHE))
        contents = {"json": hits_file.as_json, "csv": hits_file.as_csv}
        updates: Updates = {}
        for kind, button in self._files.items():
            file = folder / f"attest-search.{kind}"
            write_aside(file, contents[kind](result))
            updates[button] = gr.update(value=str(file), visible=True)
        return updates


def _found(asked: str, look: Callable[[], SearchResult], words: Texts) -> Found:
    try:
        return Found(asked, look())
    except Exception as error:
        return Found(asked, failure=explained(error, words))


def results(found: Found | None, words: Texts) -> Markup:
    """What was found, or why there is nothing to see."""
    if found is None:
        return Markup("")
    if found.result is None:
        return render.failure(found.failure or words("error.unexpected"), words)
    if isinstance(found.result, Similar):
        return pairs.similar(found.asked, found.result, words)
    return _passages(found.asked, found.result, words, narrowed=found.narrowed)


def _passages(query: str, found: SearchResult, words: Texts, *, narrowed: bool) -> Markup:
    """Hits for a query, with its words marked and both parts of each score."""
    pending = render.pending(found.pending, words)
    if not found.hits:
        lead = words("search.none.narrowed" if narrowed else "search.none.lead", query=query)
        return render.notice(words("search.none.title"), lead) + pending
    by_meaning = any(hit.dense is not None for hit in found.hits)
    most = max(hit.lexical or 0.0 for hit in found.hits)
    cards = []
    for hit in found.hits:
        scores = _words_score(hit, most, words)
        if by_meaning:
            scores = _meaning(hit, words) + scores
        spans = render.matching(query, hit.chunk.text.strip())
        cards.append(_card(hit, spans, scores, words, _explained(hit, found.weight, words)))
    head = words.count("search.hits", len(found.hits), query=query)
    if not by_meaning:
        pending = Markup('<p class="a-notes">{}</p>').format(words("search.words_only"))
    return _listed(head, pending, cards, words("search.explained"))


def _explained(hit: Hit, weight: float | None, words: Texts) -> Markup:
    """How a hit came by its place: both scores in full, what they make together, shared words."""
    rows = [(words("search.words"), _exact(hit.lexical, 3, words("search.no_words")))]
    if weight is not None:
        meaning = _exact(hit.dense, 4, words("search.not_near"))
        rows.insert(0, (words("search.meaning"), meaning))
        shares = words("search.weights", meaning=f"{weight:.0%}", words=f"{1 - weight:.0%}")
        if hit.likelihood is not None:
            rows.append((words("search.likelihood"), f"{hit.likelihood:.2f}"))
            shares = words("search.voted", shares=shares)
        rows.append((words("search.fused"), f"{hit.score:.4f} ({shares})"))
    rows.append((words("search.terms"), ", ".join(hit.terms) or words("search.no_words")))
    lines = (Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(*row) for row in rows)
    return Markup('<dl class="a-explain">{}</dl>').format(render.joined(lines))


def _exact(score: float | None, places: int, none: str) -> str:
    return none if score is None else f"{score:.{places}f}"


def _listed(head: str, note: Markup | str, cards: Sequence[Markup], explanation: str) -> Markup:
    return Markup(
        '<h2 class="a-found">{}</h2>{}<ol class="a-hits">{}</ol><p class="a-explained">{}</p>'
    ).format(head, note, render.joined(cards), explanation)


def _card(
    hit: Hit,
    spans: Sequence[render.Span],
    scores: Markup,
    words: Texts,
    explained_: Markup | str = "",
) -> Markup:
    """A passage with what is marked in it, where it stands, and its scores."""
    chunk = hit.chunk
    text = chunk.text.strip()
    marks, flowed = marks_of(text, chunk.document.media_type), render.flowed(text)
    return Markup(
        '<li class="a-hit"><h3 class="a-cut" title="{title}">{title}</h3>{place}'
        '<div class="a-text">{text}</div>{more}'
        '<div class="a-hit-foot"><dl class="a-scores">{scores}</dl>'
        '<button type="button" class="a-link" data-send="{chunk}" data-of="passage" '
        'data-title="{title}">{near}</button>'
        '<button type="button" class="a-link" data-send="{id}" data-title="{title}">{like}</button>'
        "</div>{explained}</li>"
    ).format(
        title=chunk.document.title,
        place=render.place(chunk.document, chunk.page, chunk.heading, words),
        text=render.marked(flowed, spans, marks),
        more=_more(shown(flowed, 0, len(flowed), marks), words),
        scores=scores,
        id=chunk.document.id,
        chunk=chunk.id,
        near=words("search.like.passage"),
        like=words("search.similar"),
        explained=explained_,
    )


def _more(text: str, words: Texts) -> Markup:
    """A switch between the first lines of a passage and all of it, where that is more."""
    lines = sum(bool(line.strip()) for line in text.splitlines())
    if len(text) < _SHORT and lines <= _LINES:
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

"""What the library was measured at, and measuring it by questions of the visitor's own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

import gradio as gr
from markupsafe import Markup

from index.records import StoredEvaluation
from rag.assistant import Assistant
from ui import render
from ui.background import Watch
from ui.locale import Language, Texts, texts
from ui.running import Running
from ui.theme import NAMED_ONE, STREAMED

_SHOWN = 10  # of those that are kept
_RETRIEVAL = ("ndcg_at_10", "recall_at_10", "mrr_at_10")
_ANSWERS = ("right", "citation_precision", "declining")

Updates = dict[Any, Any]


class Evaluations:
    """Components and what they do; a part of the Models tab."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        with gr.Column(elem_id="a-evaluation"):
            self._about = gr.HTML(elem_id="a-evaluate-about", apply_default_css=False)
            with gr.Row(elem_id="a-evaluate-bar"):
                self._kind = gr.Radio(
                    ["retrieval", "answers"],
                    value="retrieval",
                    container=False,
                    elem_id="a-evaluate-kind",
                )
                self._file = gr.UploadButton(
                    file_types=[".jsonl"], size="sm", scale=0, elem_id="a-evaluate"
                )
                self._running = Running(self._file, "evaluate")
            self._names = gr.JSON(visible=False)  # of the file, as NAMED_ONE tells it
            self._news = gr.HTML(elem_id="a-evaluated", apply_default_css=False)
            self._list = gr.HTML(elem_id="a-evaluations", apply_default_css=False)
        self._running.connect()
        self._file.upload(
            self.measure,
            [self._file, self._names, self._kind, place, language],
            [*self._running.changing, self._news, self._list],
            js=NAMED_ONE,
            **STREAMED,
        )

    @property
    def faces(self) -> list[Any]:
        """What `face` and `refresh` update."""
        return [self._about, self._kind, self._file, self._running.ends, self._list]

    @property
    def listing(self) -> Any:
        """What `refresh` updates."""
        return self._list

    def face(self, words: Texts) -> Updates:
        """The part in a language."""
        kinds = ("retrieval", "answers")
        return {
            self._about: Markup('<h2 class="a-found">{}</h2><p class="a-lead">{}</p>').format(
                words("models.evaluate.title"), words("models.evaluate.lead")
            ),
            self._kind: gr.update(
                choices=[(words(f"models.evaluate.{kind}"), kind) for kind in kinds],
                label=words("models.evaluate.kind"),
            ),
            self._file: gr.update(label=words("models.evaluate.button")),
            **self._running.face(words),
        }

    def refresh(self, attest: Assistant, words: Texts) -> Updates:
        """What is kept of the collection's measurements."""
        name = attest.settings.collection
        kept = attest.catalog.evaluations(name) if attest.exists(name) else ()
        return {self._list: listed(kept[:_SHOWN], words)}

    def measure(
        self, file: str, names: Sequence[str], kind: str, place: str, language: Language
    ) -> Iterator[Updates]:
        """Put the questions of a file to the library, which does not learn from them."""
        words, attest = texts(language), self._assistant.at(place)
        given = Path(file)
        try:
            named = given.rename(given.with_name(PurePath(names[0]).name or "questions.jsonl"))
        except (OSError, IndexError, ValueError):  # a name that this system has no room for
            named = given
        work = _answers if kind == "answers" else _retrieval
        try:
            yield from self._running.told(
                lambda watch: work(attest, named, watch), self._news, words, _done
            )
        finally:
            named.unlink(missing_ok=True)
        last = {**self._running.over(), **self.refresh(attest, words)}
        yield last | {self._file: gr.update(value=None, interactive=True)}


def _retrieval(attest: Assistant, file: Path, watch: Watch) -> str:
    from rag import evaluate, measured

    def told(what: str, done: int, total: int) -> None:
        watch(what, done / max(1, total))

    measured.keep_retrieval(attest, evaluate.evaluate(attest, file, watch=told))
    return file.name


def _answers(attest: Assistant, file: Path, watch: Watch) -> str:
    from rag import answer_evaluation, measured

    def told(what: str, done: int, total: int) -> None:
        watch(what, done / max(1, total))

    measured.keep_answers(attest, answer_evaluation.evaluate_answers(attest, file, watch=told))
    return file.name


def _done(name: str, words: Texts) -> Markup:
    said = words("models.evaluate.done", name=name)
    return Markup('<p class="a-done" role="status">{}</p>').format(said)


def listed(kept: Sequence[StoredEvaluation], words: Texts) -> Markup:
    """The last measurements, a table for each kind, the newest first."""
    if not kept:
        return Markup('<p class="a-none">{}</p>').format(words("models.evaluate.none"))
    tables = []
    for kind, metrics in (("retrieval", _RETRIEVAL), ("answers", _ANSWERS)):
        rows = list[Markup]()
        for one in kept:
            # An archive may have brought anything.
            with suppress(AttributeError, KeyError, TypeError, ValueError):
                rows += _rows(one, metrics, words) if one.kind == kind else ()
        if rows:
            tables.append(_table(kind, metrics, rows, words))
    units = Markup('<p class="a-notes">{}</p>').format(words("models.evaluate.units"))
    return render.joined([*tables, units])


def _table(kind: str, metrics: Sequence[str], rows: Sequence[Markup], words: Texts) -> Markup:
    heads = [words(f"models.evaluate.{key}") for key in ("date", "setting", "n")]
    heads += [words(f"models.metric.{metric}") for metric in metrics]
    title = words(f"models.evaluate.{kind}")
    return Markup(
        '<h3 class="a-small">{0}</h3><div class="a-scroll" tabindex="0" role="region" '
        'aria-label="{0}"><table><thead><tr>{1}</tr></thead><tbody>{2}</tbody></table></div>'
    ).format(
        title,
        render.joined(Markup('<th scope="col">{}</th>').format(head) for head in heads),
        render.joined(rows),
    )


def _rows(one: StoredEvaluation, metrics: Sequence[str], words: Texts) -> Iterator[Markup]:
    figures = one.figures
    if one.kind == "retrieval":
        for side in figures["sides"]:
            by = words(f"models.side.{side['side']}"), words(f"models.by_{side['relevance']}")
            cells = [
                _interval(*(side[f"{metric}{end}_pct"] for end in ("", "_low", "_high")))
                for metric in metrics
            ]
            yield _row(one, " · ".join((figures["encoder"], *by)), side["queries"], cells)
        return
    writer = figures["generator"]
    writer = words("models.evaluate.quoted") if writer is None else render.file_name(writer)
    for group in figures["groups"]:
        language = words.entries.get(f"models.in.{group['language']}", words("models.evaluate.all"))
        setting = " · ".join((figures["encoder"], writer, language))
        yield _row(one, setting, group["questions"], _marks(group["figures"], metrics))


def _marks(figures: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> list[str]:
    found = {each["metric"]: each for each in figures}
    return [
        _interval(*(found[metric][f"{part}_pct"] for part in ("mean", "low", "high")))
        if metric in found
        else "–"
        for metric in metrics
    ]


def _interval(mean: float, low: float, high: float) -> str:
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _row(one: StoredEvaluation, setting: str, n: int, cells: Sequence[str]) -> Markup:
    tail = render.joined(Markup("<td>{}</td>").format(cell) for cell in cells)
    return Markup(
        '<tr><th scope="row">{}</th><td>{}<small>{}</small></td><td>{:,}</td>{}</tr>'
    ).format(render.day(one.made_at), setting, one.figures["data"], n, tail)

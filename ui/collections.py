"""The collections of the home: which one the page looks into, and how they are made and let go."""

from dataclasses import dataclass
from typing import Any

import gradio as gr
from markupsafe import Markup

from index.keys import Keys
from rag.assistant import Assistant
from ui import render
from ui.errors import explained
from ui.locale import Language, Texts, texts
from ui.theme import DIRECT, TALKS

# After a change the page is opened anew, at the collection that it names; "" is no change.
_GO = "(name, said) => { if (name) window.attest.go(name, said); }"

Updates = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection as it is listed."""

    name: str
    documents: int
    there: bool  # False for the one of the settings before its first document


def shelves(attest: Assistant) -> list[Shelf]:
    """All of them by name; the one of the settings is among them also before it is made."""
    catalog, own = attest.catalog, attest.settings.collection
    found = [
        Shelf(one.name, sum(catalog.counts(one.name).documents.values()), there=True)
        for one in catalog.collections()
    ]
    if own not in {one.name for one in found}:
        found.append(Shelf(own, 0, there=False))
    return sorted(found, key=lambda one: render.folded(one.name))


def chooser(attest: Assistant, own: str, words: Texts) -> Markup:
    """In the header: which collection is looked into, and the way out where there is a password.

    Args:
        attest: at the collection that is looked into
        own: the collection of the settings
        words: of the page
    """
    at = attest.settings.collection
    names = [one.name for one in shelves(attest)]
    if own not in names:
        names.append(own)
    options = render.joined(
        Markup('<option value="{0}"{1}>{0}</option>').format(
            name, Markup(" selected") if name == at else ""
        )
        for name in names
    )
    leave = Markup("")
    if Keys(attest.catalog.database).guarded().password:
        leave = Markup('<button type="button" class="a-link" data-leave>{}</button>').format(
            words("login.leave")
        )
    return Markup(
        '<label data-collection="{at}"{hidden}><span>{label}</span>'
        '<select data-collections aria-label="{label}">{options}</select></label>{leave}'
    ).format(
        at="" if at == own else at,
        hidden=Markup(" hidden") if len(names) == 1 else "",
        label=words("collections.label"),
        options=options,
        leave=leave,
    )


class Collections:
    """Components and what they do; a part of the Library tab."""

    def __init__(self, assistant: Assistant, language: gr.Radio, place: gr.Textbox) -> None:
        self._assistant = assistant
        with gr.Column(elem_id="a-collections"):
            self._title = gr.HTML(elem_id="a-collections-title", apply_default_css=False)
            self._list = gr.HTML(
                elem_id="a-collection-list", apply_default_css=False, js_on_load=TALKS
            )
            with gr.Row(elem_id="a-collection-bar"):
                self._name = gr.Textbox(
                    value="", lines=1, container=False, elem_id="a-collection-name"
                )
                self._make = gr.Button(size="sm", scale=0, elem_id="a-collection-make")
            self._news = gr.HTML(
                elem_id="a-collection-news", apply_default_css=False, js_on_load=TALKS
            )
        self._go = gr.Textbox("", visible=False)
        self._said = gr.Textbox("", visible=False)
        changed = [self._news, self._list, self._go, self._said]
        seen = [place, language]
        for event in (
            gr.on(
                [self._name.submit, self._make.click],
                self.make,
                [self._name, *seen],
                changed,
                **DIRECT,
            ),
            self._list.submit(self.rename, seen, changed, **DIRECT),
            self._list.click(self.ask, seen, changed, **DIRECT),
            self._news.click(self.drop, seen, changed, **DIRECT),
        ):
            event.then(None, [self._go, self._said], None, js=_GO, **DIRECT)

    @property
    def faces(self) -> list[Any]:
        """What `face` updates."""
        return [self._title, self._list, self._name, self._make, self._news]

    @property
    def listing(self) -> Any:
        """What `refresh` updates."""
        return self._list

    def face(self, words: Texts, place: str) -> Updates:
        """The part in a language."""
        name = words("collections.name")
        return {
            self._title: Markup('<h2 class="a-found">{}</h2><p class="a-lead">{}</p>').format(
                words("collections.title"), words("collections.lead")
            ),
            **self.refresh(place, words.language),
            self._name: gr.update(placeholder=name, label=name),
            self._make: gr.update(value=words("collections.make")),
            self._news: "",
        }

    def refresh(self, place: str, language: Language) -> Updates:
        """The collections that there are now."""
        return {self._list: listed(shelves(self._assistant), place, texts(language))}

    def make(self, name: str, place: str, language: Language) -> Updates:
        """Make a collection, and look into it."""
        words = texts(language)
        if not name.strip():
            return {self._news: ""}
        try:
            made = self._assistant.create(name)
        except Exception as error:
            return self._failed(error, place, words)
        return self._leave(made, words("collections.made", name=made))

    def rename(self, place: str, language: Language, event: gr.EventData) -> Updates:
        """A name that was written in the list."""
        words, old = texts(language), str(event._data["value"])
        try:
            new = self._assistant.rename_collection(old, str(event._data["title"]))
        except Exception as error:
            return self._failed(error, place, words)
        own = self._assistant.settings.collection
        key = "collections.renamed.own" if old == own else "collections.renamed"
        return self._leave(new if place == old else place, words(key, old=old, name=new))

    def ask(self, place: str, language: Language, event: gr.EventData) -> Updates:
        """Ask once more before a collection goes, and say how much goes with it."""
        name, words = str(event._data["value"]), texts(language)
        try:
            return {self._news: self._asked(name, words)}
        except Exception as error:
            return self._failed(error, place, words)

    def drop(self, place: str, language: Language, event: gr.EventData) -> Updates:
        """Remove a collection, if as many documents go as were named."""
        words, sent = texts(language), event._data
        name = str(sent.get("value", ""))
        if sent.get("do") != "drop":
            return {self._news: ""}
        try:
            held = len(self._assistant.catalog.documents(name))
            if sent.get("documents") != str(held):  # some came or went meanwhile
                return {self._news: self._asked(name, words)}
            self._assistant.drop(name)
        except Exception as error:
            return self._failed(error, place, words)
        said = words.count("collections.removed", held, name=name)
        return self._leave(self._assistant.settings.collection if place == name else place, said)

    def _asked(self, name: str, words: Texts) -> Markup:
        held = len(self._assistant.catalog.documents(name))
        return Markup(
            '<div class="a-failure" role="alert"><p>{said}</p><p>'
            '<button type="button" class="a-danger" data-send="{name}" data-do="drop" '
            'data-documents="{held}">{remove}</button> '
            '<button type="button" class="a-link" data-send="" data-do="keep">{keep}</button>'
            "</p></div>"
        ).format(
            said=words.count("collections.surely", held, name=name),
            name=name,
            held=held,
            remove=words.count("collections.remove.all", held) if held else words("library.remove"),
            keep=words("library.keep"),
        )

    def _failed(self, error: Exception, place: str, words: Texts) -> Updates:
        failure = render.failure(explained(error, words), words)
        return {self._news: failure, **self.refresh(place, words.language)}

    def _leave(self, name: str, said: str) -> Updates:
        return {self._news: "", self._go: name, self._said: said}


def listed(found: list[Shelf], at: str, words: Texts) -> Markup:
    """Collections with what they hold, and what can be done to them."""
    rows = render.joined(_row(one, words, chosen=one.name == at) for one in found)
    return Markup('<p class="a-done" role="status" data-said hidden></p><ul>{}</ul>').format(rows)


def _row(one: Shelf, words: Texts, *, chosen: bool) -> Markup:
    name = Markup(
        '<button type="button" class="a-link a-cut" data-go="{0}" title="{0}">{0}</button>'
    )
    if chosen:
        name = Markup('<strong class="a-cut" title="{0}" aria-current="true">{0}</strong>')
    return Markup(
        '<li class="a-shelf"><span class="a-named">{name}<input type="text" hidden value="{plain}" '
        'data-send="{plain}" data-do="name" maxlength="255" aria-label="{label}" '
        'autocomplete="off"></span>{mark}<small>{held}</small>{acts}</li>'
    ).format(
        name=name.format(one.name),
        plain=one.name,
        label=words("collections.rename.label", name=one.name),
        mark=Markup('<span class="a-badge a-is-indexed">{}</span>').format(
            words("collections.chosen")
        )
        if chosen
        else "",
        held=words.count("collections.documents", one.documents),
        acts=_acts(one, words) if one.there else "",
    )


def _acts(one: Shelf, words: Texts) -> Markup:
    return Markup(
        '<span class="a-shelf-acts"><span class="a-first"><button type="button" class="a-link" '
        'data-naming aria-label="{names}">{rename}</button> <button type="button" class="a-link" '
        'data-confirm aria-label="{removes}">{remove}</button></span>'
        '<span class="a-confirm" hidden>{sure} <button type="button" class="a-link" data-keep>'
        '{keep}</button> <button type="button" class="a-danger" data-send="{name}" data-do="ask">'
        "{remove}</button></span></span>"
    ).format(
        names=words("collections.rename.label", name=one.name),
        rename=words("collections.rename"),
        removes=words("library.remove.label", title=one.name),
        remove=words("library.remove"),
        sure=words.count("collections.confirm", one.documents)
        if one.documents
        else words("collections.confirm.none"),
        keep=words("library.keep"),
        name=one.name,
    )

"""PPTX: a page for each slide, under its title: text, tables, charts and then the notes."""

import io
from typing import TYPE_CHECKING

from rag.loaders.building import TextBuilder
from rag.loaders.cleaning import one_line, warn_unreadable
from rag.loaders.errors import BrokenFile
from rag.loaders.packages import PPTX, open_package
from rag.loaders.titles import is_sensible
from rag.records import ExtractedText, Section

if TYPE_CHECKING:
    from pptx.slide import Slide

_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def read_pptx(data: bytes, stem: str) -> ExtractedText:
    """Raises BrokenFile for what is no presentation, UnsupportedFile for one that is too large."""
    import pptx

    open_package(data, PPTX)
    builder = TextBuilder()
    try:
        presentation = pptx.Presentation(io.BytesIO(data))
        title = one_line(presentation.core_properties.title or "")
        for number, slide in enumerate(presentation.slides, start=1):
            _add_slide(builder, number, slide)
    except Exception as error:  # python-pptx and lxml raise whatever the damage leads to
        raise BrokenFile("the file is damaged: it cannot be opened as a presentation") from error
    if not is_sensible(title):
        title = next((s.heading[0] for s in builder.sections if s.heading), stem)
    return builder.finish(title, _MEDIA_TYPE, warn_unreadable(builder.unreadable))


def _add_slide(builder: TextBuilder, number: int, slide: "Slide") -> None:
    from rag.loaders.pptx_shapes import blocks, paragraph_text

    title = slide.shapes.title
    places = []
    if title is not None:
        name = one_line(" ".join(paragraph_text(p._p) for p in title.text_frame.paragraphs))
        if name:
            places.append(builder.heading(1, name))
    is_named = bool(places)
    lines = [lines for lines in blocks(slide.shapes, title) if lines]
    if slide.has_notes_slide:
        notes = slide.notes_slide.notes_text_frame
        spoken = [paragraph_text(p._p) for p in notes.paragraphs] if notes is not None else []
        lines.append([text for text in spoken if text])
    places += [builder.add("\n".join(block)) for block in lines if block]
    if places and not is_named:  # it does not belong to the slide before
        builder.sections.append(Section(places[0], ()))
    builder.page(number, places[0] if places else builder.end)

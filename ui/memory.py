"""What the library remembers of its use, and the button that makes it forget."""

from markupsafe import Markup, escape

from rag.records import LibraryStatus
from ui.locale import Texts

_SETTING = Markup("<code>remember_questions = false</code>")


def memory(status: LibraryStatus, words: Texts, talks: int = 0) -> Markup:
    """How many questions are remembered; none and switched off are said too.

    Args:
        status: of the library
        words: of the page
        talks: conversations that are kept
    """
    if not status.remember_questions:
        said = words("memory.off")
        more = words.count("memory.left", status.questions) if status.questions else ""
    else:
        n = status.questions
        said = words.count("memory.on", n) if n else words("memory.none")
        more = escape(words.entries["memory.how"]).format(setting=_SETTING)
    acts = _acts(words) if status.questions or talks else ""
    return Markup('<p class="a-memory" role="status">{} {} {}</p>').format(said, more, acts)


def _acts(words: Texts) -> Markup:
    """A button that asks once more before everything is forgotten."""
    return Markup(
        '<span class="a-first"><button type="button" class="a-link" data-confirm>{forget}</button>'
        '</span><span class="a-confirm" hidden>{sure} '
        '<button type="button" class="a-link" data-keep>{keep}</button> '
        '<button type="button" class="a-danger" data-send="forget">{forget}</button></span>'
    ).format(forget=words("memory.forget"), sure=words("memory.sure"), keep=words("library.keep"))

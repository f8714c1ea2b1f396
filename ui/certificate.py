"""What the generator's likelihoods say of a source, in one quiet line."""

from markupsafe import Markup

from rag.records import Certificate
from ui.locale import Texts


def line(certificate: Certificate | None, texts: Texts) -> Markup:
    """Such as: needed · enough by itself · the answer follows its facts."""
    if certificate is None:
        return Markup("")
    words = [
        texts("source.needed" if certificate.necessary else "source.not_needed"),
        texts("source.enough" if certificate.sufficient else "source.not_enough"),
    ]
    if certificate.follows is not None:
        words.append(texts("source.follows" if certificate.follows else "source.stays"))
    return Markup('<p class="a-origin" title="{}">{}</p>').format(
        texts("source.certificate"), " · ".join(words)
    )

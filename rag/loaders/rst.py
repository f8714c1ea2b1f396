"""reStructuredText: what a reader of the rendered page sees; sections by their underlines.

docutils parses it, with file inclusion and raw output switched off. Directives and roles that it
does not know, such as those of Sphinx, give their title and their content.
"""

import re
from textwrap import dedent

from rag.loaders.cleaning import clean, one_line, warn_unreadable
from rag.loaders.decoding import decode
from rag.loaders.errors import LoadError
from rag.loaders.rst_tree import Node, Rendering
from rag.records import ExtractedText

_MEDIA_TYPE = "text/x-rst"
_LARGEST = 1_000_000  # characters that are parsed: it takes 15 seconds
_DIRECTIVE = re.compile(r"\s*\.\. (?:\|[^|]*\| )?(?P<name>[\w:+.-]+)::[ \t]*(?P<title>.*)")
_OPTION = re.compile(r"\s*:[\w-]+:")
_MOST_NESTED = 8  # unknown directives inside each other
# Their content is a list of file names, or code that computes something.
_SILENT = frozenset(("toctree", "include", "literalinclude", "raw", "automodule", "autoclass"))
_VERSIONS = {
    "versionadded": "Added in version ",
    "versionchanged": "Changed in version ",
    "versionremoved": "Removed in version ",
    "deprecated": "Deprecated since version ",
}
_CODE = frozenset(("code", "code-block", "sourcecode", "highlight", "prompt", "parsed-literal"))


class _Unparsable(LoadError):
    """docutils gave up."""


def read_rst(data: bytes, stem: str) -> ExtractedText:
    decoded = decode(data)
    if len(decoded.text) > _LARGEST:
        reason = f"more than {_LARGEST:,} characters: read as plain text"
        return ExtractedText(decoded.text, stem, _MEDIA_TYPE, warnings=(*decoded.warnings, reason))
    try:
        rendering = Rendering(_unknown_directive)
        rendering.read(_parse(decoded.text))
    except (_Unparsable, RecursionError):
        reason = "its markup cannot be parsed: read as plain text"
        return ExtractedText(decoded.text, stem, _MEDIA_TYPE, warnings=(*decoded.warnings, reason))
    builder = rendering.builder
    title = builder.sections[0].heading[0] if builder.sections else stem
    warnings = decoded.warnings + warn_unreadable(builder.unreadable)
    return builder.finish(title, _MEDIA_TYPE, warnings)


def _parse(text: str) -> Node:
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.halt_level = 5  # past the severest: nothing stops it
    settings.report_level = 5
    settings.warning_stream = ""
    settings.syntax_highlight = "none"
    settings.line_length_limit = _LARGEST
    document = new_document("text", settings)
    try:
        Parser().parse(text, document)
    except RecursionError:
        raise
    except Exception as error:  # docutils raises whatever odd markup leads to
        raise _Unparsable(str(error)) from error
    return document


def _unknown_directive(source: str, depth: int) -> tuple[str, Node | str | None]:
    """Gives the title line and the content of a directive that docutils does not know.

    The content is parsed in its turn, or plain where it is code or stands too deep.
    """
    first, _, rest = source.partition("\n")
    opening = _DIRECTIVE.match(first)
    if opening is None:
        return "", clean(source)[0]
    lines = rest.split("\n")
    while lines and (_OPTION.match(lines[0]) or not lines[0].strip()):
        lines.pop(0)
    name = opening["name"]
    title = _VERSIONS.get(name, "") + one_line(opening["title"])
    content = dedent("\n".join(lines)).strip("\n")
    if name in _CODE:
        return "", content
    if name.rpartition(":")[2] in _SILENT or not content:
        return ("" if name in _SILENT else title), None
    return title, _parse(content) if depth < _MOST_NESTED else content

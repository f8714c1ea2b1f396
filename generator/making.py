"""A generator by one config file: vocabulary, a language from bare text, answers from examples.

Beside the finished checkpoint OUTPUT stands OUTPUT.training, with what each stage left, samples of
what the first one taught and, where one was learned, the adapter. A run that was ended goes on from
there; a stage that is done is not done again.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from generator import checkpoint, pretrain, training_config
from generator.checkpoint import GeneratorCheckpoint
from generator.example_files import read_examples
from generator.finetune import FinetuneConfig, finetune, narrow
from generator.pretrain import SPECIALS
from generator.training_config import MakingConfig
from transformer import lora, processes, run_files, run_record
from transformer.byte_pairs import train_byte_pairs
from transformer.checkpoint import TOKENIZER, write_whole
from transformer.corpus_files import read_documents
from transformer.errors import TrainingError
from transformer.packaged import FILE
from transformer.run_files import writing
from transformer.staged import Finished, Stages, Watching, quiet
from transformer.tokenizer import Tokenizer
from transformer.training import Trained

STAGES = Stages("finetune", ("finetune", "data.examples", "data.judged"))
SAMPLES = "samples.txt"


def run(
    file: Path,
    overrides: Sequence[str],
    output: Path,
    *,
    locate: Callable[[str], Path] = Path,
    watch: Watching = quiet,
) -> Finished:
    """Train the generator that a config file describes, or go on with it; of a finished one, tell.

    Args:
        file: the config
        overrides: settings over those of the file, as `key=value`
        output: the checkpoint to be made
        locate: finds the model that the config names as `base`
        watch: is asked for a watcher of each stage

    Raises:
        ConfigError: the config cannot be.
        TrainingError: the data or the settings do not fit, `output` holds something else, or a
            stage went wrong; what it reached stays.
        CheckpointError: the base cannot be read.
    """
    config = training_config.read(file, overrides)
    return _Making(config, file.parent, output, locate, watch).finish()


class _Making:
    def __init__(
        self,
        config: MakingConfig,
        origin: Path,
        output: Path,
        locate: Callable[[str], Path],
        watch: Watching,
    ) -> None:
        self.config, self.origin, self.locate, self.watch = config, origin, locate, watch
        self.output = output.resolve()
        self.work = self.output.parent / f"{self.output.name}.training"
        self.fellows = processes.joined()
        for stage in (config.pretrain, config.finetune):
            if stage is not None:  # of the second stage too, which may be days away
                self.fellows.require_work(stage.training.accumulate)
        # The first process alone looks and writes: another would see what it has just written.
        self.record = self.fellows.told(self._record() if self.fellows.first else None)
        self.fellows.require_seen(self.work / run_record.FILE)

    def finish(self) -> Finished:
        if not self.fellows.told(self.output.exists()):
            with run_files.alone(self.work) if self.fellows.first else nullcontext():
                self._write(self._trained(), self.output)
        made = checkpoint.load(self.output, "fp32")
        stages = {name: Trained(**told) for name, told in self.record["stages"].items()}
        return Finished(self.output, made.fingerprint, made.parameters, stages)

    def _record(self) -> dict[str, Any]:
        """What is known of this run; nothing is written where `output` is somebody else's."""
        settings = asdict(self.config)
        known = (self.work / run_record.FILE).is_file()
        record = run_record.take_up(self.work, settings, STAGES) if known else {"stages": {}}
        stages = [name for name in (STAGES.first, STAGES.second) if settings[name] is not None]
        if self.output.exists() and not record["stages"].keys() >= set(stages):
            raise TrainingError(f"{self.output} exists and is kept: give another folder")
        return record if known else run_record.take_up(self.work, settings, STAGES)

    @cached_property
    def texts(self) -> list[str]:
        documents = read_documents([self._path(file) for file in self.config.data.texts])
        return [document.whole for document in documents]

    def _trained(self) -> GeneratorCheckpoint:
        learning = self.config.finetune
        if learning is None:
            return self._pretrained()
        examples, judged = (
            read_examples([self._path(file) for file in files])
            for files in (self.config.data.examples, self.config.data.judged)
        )
        made = self._pretrained()
        with self.watch(STAGES.second) as watch:
            done = finetune(
                made, examples, learning, self.work / STAGES.second, judged=judged, watch=watch
            )
        if learning.lora is not None:
            self._keep_adapter(made, learning, done)
        run_record.note(self.work, self.record, STAGES.second, done, first=self.fellows.first)
        return made

    def _keep_adapter(
        self, made: GeneratorCheckpoint, learning: FinetuneConfig, done: Trained
    ) -> None:
        """Write the adapter as a file of its own, and fold it into the model."""
        assert learning.lora is not None
        narrow(made.model)
        note = {"steps": done.steps, "metrics": dict(done.metrics), "lora": asdict(learning.lora)}
        file = self.work / FILE
        if self.fellows.first:
            with writing(file):
                lora.save(made.model, file, base=made.fingerprint, note=note)
        lora.merge(made.model)

    def _pretrained(self) -> GeneratorCheckpoint:
        """After the first stage, or as it begins where there is none."""
        learning, folder = self.config.pretrain, self.work / STAGES.made
        if learning is None:
            return self._start()
        if not self.fellows.told(folder.exists()):
            made = self._start()
            with self.watch(STAGES.first) as watch:
                done = pretrain.pretrain(
                    made, self.texts, learning, self.work / STAGES.first, watch=watch
                )
            run_record.note(self.work, self.record, STAGES.first, done, first=self.fellows.first)
            self._keep_samples(made, learning)
            self._write(made, folder)
        return checkpoint.load(folder, "fp32")

    def _keep_samples(self, made: GeneratorCheckpoint, learning: pretrain.CausalConfig) -> None:
        if not self.fellows.first:
            return
        told = [f"{said} >> {more}" for said, more in pretrain.samples(made, self.texts, learning)]
        file = self.work / SAMPLES
        with writing(file):
            write_whole(file, "\n\n".join([*told, ""]).encode())

    def _start(self) -> GeneratorCheckpoint:
        config = self.config
        if config.base is not None:
            beside = run_files.beside(Path(config.base), self.origin)
            path = beside if beside.exists() else self.locate(config.base)
            return checkpoint.load(path, "fp32")
        stage = config.pretrain or config.finetune
        assert stage is not None
        assert config.generator is not None
        return pretrain.fresh(config.generator, self._tokenizer(), seed=stage.training.seed)

    def _tokenizer(self) -> Tokenizer:
        assert self.config.tokenizer is not None
        file = self.work / TOKENIZER
        # Until something has learned its ids, the settings of the vocabulary may still change.
        if self.fellows.first and not (file.exists() and STAGES.begun(self.work)):
            size = self.config.tokenizer.size
            made = train_byte_pairs(self.texts, size=size, specials=SPECIALS)
            with writing(file):
                write_whole(file, made.to_json().encode())
        self.fellows.told(None)
        return Tokenizer.load(file)

    def _write(self, made: GeneratorCheckpoint, folder: Path) -> None:
        if self.fellows.first:
            with writing(folder):
                checkpoint.save(made, folder)
        self.fellows.told(None)

    def _path(self, file: Path) -> Path:
        return run_files.beside(file, self.origin)

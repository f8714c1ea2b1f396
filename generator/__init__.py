"""The generator: a decoder-only model that writes answers."""

from generator.config import GeneratorConfig
from generator.errors import PromptError
from generator.model import Generator
from generator.prompts import Message
from generator.sampling import Sampling
from generator.writer import Generation, Writer

__all__ = [
    "Generation",
    "Generator",
    "GeneratorConfig",
    "Message",
    "PromptError",
    "Sampling",
    "Writer",
]

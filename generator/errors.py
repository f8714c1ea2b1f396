"""What can go wrong with a generator, below the errors of every model.

transformer.errors.ModelError
└── PromptError    messages cannot be put into the form that the model was trained on
"""

from transformer.errors import ModelError


class PromptError(ModelError):
    """The chat template fails on these messages: says why, and what to do."""

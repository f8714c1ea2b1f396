"""How the learning rate goes over a run."""


def schedule(progress: float, warmup: float) -> float:
    """Share of the peak rate when a share of the budget is spent: up in a line, down to zero."""
    if progress < warmup:
        return max(progress, 1e-3) / warmup
    return (1 - progress) / (1 - warmup)

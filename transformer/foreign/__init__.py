"""Other people's checkpoints: one file per layout, each a config and a stream of our tensors."""

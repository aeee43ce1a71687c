"""Running mechanisms: seeds, workers, a store of finished batches, progress."""

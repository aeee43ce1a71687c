"""The papers' tables beside ours: loaders, trainings, tables."""

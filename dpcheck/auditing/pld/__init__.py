"""The privacy-loss distribution of real code, with bands that hold."""

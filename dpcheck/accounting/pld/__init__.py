"""The certified privacy-loss distribution."""

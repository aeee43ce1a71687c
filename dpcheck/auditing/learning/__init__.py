"""From outputs to events worth testing."""

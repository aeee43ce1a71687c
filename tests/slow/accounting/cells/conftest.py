"""Helpers of these tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # brute_force.py, described.py

"""Traces on real data: releases paid for before they are made, many runs at once."""

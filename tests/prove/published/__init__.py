"""Programs that papers on proving and testing differential privacy are about, in plain Python."""

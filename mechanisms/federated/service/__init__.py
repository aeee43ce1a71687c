"""Two parties as two processes: TLS, certificates, checkpoints."""

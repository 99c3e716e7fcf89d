"""Every claim of speed, measured: `python -m tests.benchmarks`."""

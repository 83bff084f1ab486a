"""The questions, two files each: `qN_M.py` and its words, `qN_M.toml`."""

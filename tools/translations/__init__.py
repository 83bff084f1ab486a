"""The course in other languages, from one source. `python -m tools.translations --help` lists the commands.

- `markdown` and `code` split a text into what stays and what is translated: its units.
- `sources` finds the units of a notebook or page and weaves their translations into a copy.
- `messages` finds the texts of the course's Python, and writes the dictionaries that `qkv.words` reads.
- `catalogues` keeps translations in PO files, one a source file and language, and notices which are stale.
- `rules` says what has to hold between a text and its translation; `terms.toml` lists the terms.
"""

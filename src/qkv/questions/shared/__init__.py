"""Wrong ideas that several questions share: one file for each part of attention, with its texts in a TOML file."""

"""Wrong ideas that several questions share, one file a part of attention; the words stand beside each."""

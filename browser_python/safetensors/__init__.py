"""The part of safetensors that reads and writes the trained weights, for the page's torch."""

"""As much of safetensors as trained weights are read and written with, for the page's torch."""

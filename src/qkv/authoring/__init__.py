"""Tools for authors of the course: exercises are generated from solutions."""

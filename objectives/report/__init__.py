"""Figures, films and browser views of solutions."""

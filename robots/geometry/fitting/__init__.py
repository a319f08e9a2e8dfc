"""Primitives fitted around the surfaces of links, and what they cost."""

"""Functions that draw the pictures of the pages, by what a picture shows."""

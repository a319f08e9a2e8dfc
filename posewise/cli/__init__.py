"""The commands that read problem files; see `posewise solve --help`."""

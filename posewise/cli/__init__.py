"""Commands of `posewise` that read problem files; `posewise solve --help` explains."""

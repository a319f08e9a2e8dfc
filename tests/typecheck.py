"""Runtime checks of annotations; an int is welcome where a float is (PEP 484)."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))

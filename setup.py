"""Packages of posewise: the folders of pyproject.toml, and those inside of them.

An sdist has no links inside `posewise/`, so that each folder is searched for itself.
"""

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
folders = project["tool"]["setuptools"]["package-dir"]
packages = set(folders)
for package, folder in folders.items():
    packages.update(f"{package}.{inner}" for inner in find_packages(folder))

setup(packages=sorted(packages))

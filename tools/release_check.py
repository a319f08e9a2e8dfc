"""Try a release as its users get it: builds, contents, and the wheel on two Pythons.

    python tools/release_check.py [--extras cli,plot] [--python PATH] [--keep FOLDER]

Builds sdist and wheel from the files that git knows, checks that the sdist gives the
same wheel and that version and contents are right, and installs the wheel into fresh
environments of the oldest and the newest supported Python of this machine. There, in an
empty folder and without the checkout, it runs README's example, `posewise doctor`,
`demo`, `solve` of a small problem, and `pip check`. It stops at the first step that
fails, with its output. `--python`, several times if need be, names other Pythons.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = 11, 14
"""Minor versions of Python 3 that are supported."""
PROBLEM = """\
scene:
  models: [table]
  objects:
    box:
      parts: ["Box([0.08, 0.06, 0.12])"]
      joint: free
      position: [0, 0, 1.2]
placement: {movable: [box], starts: 16}
predicates: ["OnTopOf(box, table)"]
"""
ORIGIN = """
import pathlib, sys, posewise
place = pathlib.Path(posewise.__file__).resolve()
assert place.is_relative_to(pathlib.Path(sys.prefix).resolve()), place
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--extras", default="cli,plot", help="installed with the wheel")
    parser.add_argument("--python", action="append", help="instead of those found")
    parser.add_argument("--keep", type=Path, help="folder for wheel and sdist")
    args = parser.parse_args()
    pythons = args.python or oldest_and_newest()
    version = checked_version()
    with tempfile.TemporaryDirectory(prefix="posewise-release-") as name:
        folder = Path(name)
        wheel, sdist = build(pythons[0], folder)
        check_contents(wheel, sdist, version)
        for k, python in enumerate(pythons):
            try_wheel(wheel, python, folder / f"try{k}", args.extras)
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(wheel, args.keep)
            shutil.copy(sdist, args.keep)
    print(f"posewise {version} can be released.")


def oldest_and_newest() -> list[str]:
    """Return the commands of the oldest and the newest Python; one if there is one."""
    commands = [
        python for minor in range(OLDEST, NEWEST + 1) for python in pythons(minor)
    ]
    if not commands:
        sys.exit(f"This machine has no Python 3.{OLDEST} to 3.{NEWEST}.")
    ends = list(dict.fromkeys((commands[0], commands[-1])))
    print(f"Pythons: {', '.join(ends)}")
    if len(ends) == 1:
        print("There is only one: the check on a newest Python is left out.")
    return ends


def pythons(minor: int) -> Iterator[str]:
    """Yield a Python 3 of a minor version that can make environments, if any."""
    versions = Path.home() / ".pyenv/versions"
    test = f"import ensurepip, sys; assert sys.version_info[:2] == (3, {minor})"
    for python in (
        f"python3.{minor}",
        *map(str, sorted(versions.glob(f"3.{minor}.*/bin/python"))),
    ):
        command = [python, "-c", test]
        if (
            shutil.which(python)
            and not subprocess.run(command, capture_output=True).returncode
        ):
            yield python
            return


def checked_version() -> str:
    """Return the version, which pyproject, changelog and citation must share."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.M)
    for file, match in (("CHANGELOG.md", newest), ("CITATION.cff", cited)):
        if match is None or match[1] != version:
            stated = match and match[1]
            sys.exit(f"pyproject.toml has version {version}, but {file} has {stated}.")
    return version


def build(python: str, folder: Path) -> tuple[Path, Path]:
    """Return a wheel and an sdist of the files that git knows."""
    source, dist = folder / "source", folder / "dist"
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, listed.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink() or (ROOT / name).exists():
            shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    builder = environment(python, folder / "builder")
    run("install build", [builder, "-m", "pip", "install", "-q", "build"], folder)
    make = [builder, "-m", "build", "--outdir", str(dist)]
    run("build the sdist, and a wheel from it", [*make, str(source)], folder)
    direct = [*make[:-1], str(folder / "direct"), "--wheel", str(source)]
    run("build a wheel from the source", direct, folder)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    (twin,) = (folder / "direct").glob("*.whl")
    ours, theirs = contents(wheel), contents(twin)
    if ours != theirs:
        differ = sorted(set(ours.items()) ^ set(theirs.items()))
        names = ", ".join(dict.fromkeys(name for name, _ in differ))
        sys.exit(f"The sdist does not give the same wheel; these files differ: {names}")
    return wheel, sdist


def contents(wheel: Path) -> dict[str, str]:
    """Return the hash of each file of a wheel, by name."""
    with zipfile.ZipFile(wheel) as file:
        return {
            name: hashlib.sha256(file.read(name)).hexdigest()
            for name in file.namelist()
        }


def check_contents(wheel: Path, sdist: Path, version: str) -> None:
    """Check that wheel and sdist are of a version, and have what they must have."""
    names = set(contents(wheel))
    info = f"posewise-{version}.dist-info/"
    needed = {f"{info}METADATA", f"{info}licenses/LICENSE", "posewise/py.typed"}
    needed |= {"posewise/robots/data/panda.urdf", "posewise/features/table.py"}
    if missing := sorted(needed - names):
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}.")
    if strays := sorted(n for n in names if not n.startswith(("posewise/", info))):
        sys.exit(f"{wheel.name} has files outside of the package: {strays[:5]}.")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("README.md", "LICENSE", "pyproject.toml", "features/table.py"):
        if name not in inside:
            sys.exit(f"{sdist.name} lacks {name}.")
    print(f"  {wheel.name}: {len(names)} files, as from the sdist")


def environment(python: str, folder: Path) -> str:
    """Return the Python of a fresh environment."""
    run(f"make an environment of {python}", [python, "-m", "venv", folder], folder)
    return str(folder / "bin/python")


def try_wheel(wheel: Path, python: str, folder: Path, extras: str) -> None:
    """Install a wheel, and run what a user runs first, in an empty folder."""
    interpreter = environment(python, folder / "venv")
    place = folder / "empty"
    place.mkdir()
    (place / "problem.yaml").write_text(PROBLEM)
    readme = (ROOT / "README.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", readme, re.S)
    (place / "example.py").write_text("\n".join(snippets))
    command = str(folder / "venv/bin/posewise")
    pip = [interpreter, "-m", "pip"]
    steps = {
        f"install {wheel.name}[{extras}]": [
            *pip,
            "install",
            "-q",
            f"{wheel}[{extras}]",
        ],
        "pip check": [*pip, "check"],
        "import it from the environment": [interpreter, "-c", ORIGIN],
        "README's example": [
            interpreter,
            "-W",
            "error::DeprecationWarning",
            "example.py",
        ],
        "posewise doctor": [command, "doctor"],
        "posewise demo": [command, "demo", "--out", "out"],
        "posewise solve": [command, "solve", "problem.yaml", "--npz", "box.npz"],
        "python -m posewise": [interpreter, "-m", "posewise", "--help"],
    }
    for title, step in steps.items():
        run(title, step, place)
    for file in (place / "box.npz", *(place / "out").glob("*.png")):
        if not file.stat().st_size:
            sys.exit(f"{file} is empty.")


def run(title: str, command: list[str | Path], folder: Path) -> None:
    """Run a step, and exit with its output if it fails."""
    print(f"- {title}", flush=True)
    folder = folder if folder.is_dir() else folder.parent
    folder.mkdir(parents=True, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    # an own cache: nothing that another version has compiled is read
    env["POSEWISE_CACHE"] = str(folder / "cache")
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        print(done.stdout)
        sys.exit(f"This step failed with exit code {done.returncode}: {title}.")


if __name__ == "__main__":
    main()

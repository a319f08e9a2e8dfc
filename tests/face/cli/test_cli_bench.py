"""The command `posewise bench`."""

from helpers.problem_files import POINTING

from posewise.__main__ import main
from posewise.cli.problem_file import (
    make_path_problem,
    read_problem,
)


def test_bench_prints_a_table(write_problem, capsys, monkeypatch):
    from posewise.cli import bench

    def pointing():
        file = write_problem(POINTING[: POINTING.index("pred")])
        return make_path_problem(read_problem(file))[0]

    monkeypatch.setattr(bench, "standard_problems", lambda: {"pointing": pointing})
    assert main(["bench"]) == 0
    output = capsys.readouterr().out.splitlines()
    assert "cores" in output[0] and output[2].split() == [
        "problem",
        "first",
        "s",
        "ms",
        "success",
    ]
    name, first, ms, share = output[3].split()
    assert name == "pointing" and 1e3 * float(first) > float(ms) > 0 and share == "100%"


def test_bench_runs_scripts_of_the_repository(
    write_problem, capfd, monkeypatch, tmp_path
):
    from posewise.cli import bench

    for name, code in {"good": "print('done')", "bad": "raise SystemExit(3)"}.items():
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.setattr(bench, "BENCHMARKS_DIR", tmp_path)
    assert main(["bench", "good"]) == 0
    assert capfd.readouterr().out == "benchmarks/good.py\ndone\n"
    assert main(["bench", "bad", "good"]) == 1
    assert "done" in capfd.readouterr().out
    assert main(["bench", "goood"]) == 2
    assert "did you mean 'good'" in capfd.readouterr().err
    monkeypatch.setattr(bench, "BENCHMARKS_DIR", tmp_path / "none")
    assert main(["bench", "good"]) == 2
    assert "of the repository, which is not installed here" in capfd.readouterr().err

"""Every check of this project, each a session; CI calls nothing else.

``nox -s tests`` is how the package is tested; ``nox -l`` lists the rest. What a session
installs is read from pyproject.toml.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint", "typing", "docs"]

ROOT = Path(__file__).parent
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PACKAGE = ".[cli,otel,redis,skills]"
PYTHON_FILES = ("trio_mcp", "tests", "tools", "docs", "examples", "benchmarks", "noxfile.py")

# Here and not in a file, since flake8 takes no codes of five letters from one.
NOT_OURS = (
    "ASYNC109",  # `read_timeout_seconds` and its like are names people know from `mcp`
    "ASYNC124",  # handlers are async because they may wait, not because each one does
    "ASYNC127",  # any AsyncClient may be handed in; docs/design.md says which one we bring
)
FINE_IN_TESTS = (
    *NOT_OURS,
    "ASYNC100",  # a scope stands empty to show that it may
    "ASYNC102",  # a test that hangs in its clean-up is ended by its limit
    "ASYNC110",  # what a process does cannot be waited for by an event
    "ASYNC112",  # that something is done in another task is what is tested
    "ASYNC111",  # servers and clients are started in nurseries that outlive them on purpose
    "ASYNC231",  # pipes are opened in place
)
FLAKE8_ASYNC = ("--select=ASYNC1,ASYNC2,ASYNC3", f"--extend-ignore={','.join(NOT_OURS)}")


def group(name: str) -> tuple[str, ...]:
    """Read the requirements of a dependency group."""
    return nox.project.dependency_groups(PYPROJECT, name)


def present(*names: str) -> list[str]:
    """Leave out what a source distribution, or a young tree, does not have."""
    return [name for name in names if (ROOT / name).exists()]


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, in as many processes as there are cores; further arguments go to pytest."""
    session.install("-e", PACKAGE, *group("tests"))
    session.run("pytest", "--numprocesses=auto", *session.posargs)


TESTS_WITH_PEERS = (
    "tests/typescript",
    "tests/interop/test_official_oauth_server.py",
    "tests/interop/test_browser.py",
)


@nox.session
def interop(session: nox.Session) -> None:
    """Run the tests against the TypeScript SDK, examples of the official one, and a browser."""
    session.install("-e", PACKAGE, *group("tests"), *group("interop"))
    peers = Path(session.create_tmp())
    for program in (ROOT / "tests/typescript/peers").iterdir():
        shutil.copy(program, peers)
    options = ("--no-package-lock", "--no-audit", "--no-fund")
    session.run("npm", "install", *options, "--prefix", str(peers))
    where = {
        "TRIO_MCP_TYPESCRIPT": str(peers),
        "TRIO_MCP_OFFICIAL_EXAMPLES": str(_official_examples(session, peers)),
    }
    session.run("pytest", *TESTS_WITH_PEERS, *session.posargs, env=where)


def _official_examples(session: nox.Session, folder: Path) -> Path:
    """Unpack the examples of the official SDK, which are in its source distribution alone."""
    release = next(each for each in group("tests") if each.startswith("mcp=="))
    options = ("--quiet", "--no-deps", "--no-binary", "mcp", "--dest", str(folder))
    session.run("pip", "download", *options, release)
    (packed,) = folder.glob("mcp-*.tar.gz")
    shutil.unpack_archive(packed, folder)
    return folder / packed.name.removesuffix(".tar.gz") / "examples"


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the official conformance suite, on a Node that is installed like the rest."""
    session.install("-e", PACKAGE, *group("tests"), *group("interop"))
    suite = Path(session.create_tmp())
    for described in (ROOT / "tests/conformance/suite").iterdir():
        shutil.copy(described, suite)
    options = ("--ignore-scripts", "--no-audit", "--no-fund")
    session.run("npm", "ci", *options, "--prefix", str(suite))
    session.run(
        "pytest",
        "tests/conformance",
        "--numprocesses=auto",
        *session.posargs,
        env={"TRIO_MCP_CONFORMANCE": str(suite)},
    )


@nox.session
def coverage(session: nox.Session) -> None:
    """Run the tests, and report which lines and branches they did not reach."""
    session.install("-e", PACKAGE, *group("tests"))
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", *session.posargs)
    session.run("coverage", "combine", "--quiet")
    session.run("coverage", "report")


@nox.session
def lint(session: nox.Session) -> None:
    """Check the format, the style and the use of Trio of all Python files."""
    session.install(*group("lint"))
    files = present(*PYTHON_FILES)
    session.run("ruff", "format", "--check", *files)
    session.run("ruff", "check", *files)
    tests, others = present("tests"), [name for name in files if name != "tests"]
    session.run("flake8", *FLAKE8_ASYNC, *others)
    session.run("flake8", *FLAKE8_ASYNC, f"--extend-ignore={','.join(FINE_IN_TESTS)}", *tests)
    session.run("codespell", *files, *present("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))


@nox.session
def typing(session: nox.Session) -> None:
    """Check the types with mypy and pyright, both strict."""
    session.install("-e", PACKAGE, *group("typing"))
    session.run("mypy")
    session.run("pyright")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation offline; a warning or a dead reference is an error."""
    session.install("-e", PACKAGE, *group("docs"))
    session.run("sphinx-build", "-W", "--keep-going", "-n", "-E", "docs", "docs/_build/html")


@nox.session
def build(session: nox.Session) -> None:
    """Build wheel and source distribution, and try the wheel where nothing else is."""
    session.install(*group("build"))
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    session.run("python", "-m", "build")
    made = sorted(str(path) for path in (ROOT / "dist").iterdir())
    session.run("twine", "check", "--strict", *made)
    wheel = next(path for path in made if path.endswith(".whl"))
    session.install("--force-reinstall", "--no-deps", wheel)
    session.install(f"{wheel}[cli]")
    # Away from the tree, so that what is imported is what was installed.
    with session.chdir(session.create_tmp()):
        session.run("trio-mcp", "version")
        session.run("trio-mcp", "demo", "--plain")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure against the official SDK on this machine; `--quick` only shows that it runs."""
    session.install("-e", PACKAGE, *group("bench"))
    if not present("benchmarks"):
        session.skip("this tree has no benchmarks")
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Search for two minutes for input that breaks us; `--fuzz-seconds=N` sets the time."""
    session.install("-e", PACKAGE, *group("tests"))
    if not present("tests/fuzz"):
        session.skip("this tree has no fuzz tests")
    # Of an option given twice the last one counts. One search is one test, and a long one.
    options = ("--fuzz-seconds=120", "-o", "faulthandler_timeout=1800", "-s")
    session.run("pytest", "tests/fuzz", *options, *session.posargs)


@nox.session
def soak(session: nox.Session) -> None:
    """Let 200 clients come and go for twice 40 seconds, and look at what is left of them."""
    session.install("-e", PACKAGE, *group("tests"))
    options = ("--soak-seconds=40", "--soak-clients=200", "-s")
    session.run("pytest", "tests/soak", *options, *session.posargs)


@nox.session(venv_backend="none")
def requirements(session: nox.Session) -> None:
    """List the requirements that no test proves; arguments name sections, or `--strict`."""
    program = ("tools/requirements.py", *session.posargs)
    session.run(sys.executable, *program, external=True)

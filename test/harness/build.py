"""Builds the extension and installs it into a private copy of the server tree.

PostgreSQL finds its files relative to its binaries, so a copy of its directories below another root is a
complete server: `make install` into it takes no rights, and the system's own server never sees it.

    python3 -m harness.build DIRECTORY      builds there and prints the path of the pg_config to use
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
NOT_SOURCE = shutil.ignore_patterns(".git", "*.o", "*.so", "*.bc", "build", "build-*", "results", "__pycache__", ".pytest_cache")


def system_pg_config():
    """PG_CONFIG, or that of the newest server under Debian's directories, or the first on the path."""
    if os.environ.get("PG_CONFIG"):
        return os.environ["PG_CONFIG"]
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_config"), key=lambda path: int(path.parts[4]))
    return str(debian[-1]) if debian else "pg_config"


def ask(pg_config, what):
    return subprocess.run([pg_config, f"--{what}"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def copy_server(root, pg_config):
    """Copies the server's directories below root, each at its own path; returns the copy's pg_config."""
    for what in ("bindir", "pkglibdir", "sharedir", "includedir", "includedir-server"):
        source = Path(ask(pg_config, what))
        target = root / source.relative_to("/")
        if not target.exists():
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("bitcode"))
    return root / Path(ask(pg_config, "bindir")).relative_to("/") / "pg_config"


def make(source, pg_config, *targets):
    subprocess.run(["make", "-s", f"-j{os.cpu_count()}", f"PG_CONFIG={pg_config}", *targets], cwd=source, check=True,
                   stdout=sys.stderr)


def build(directory):
    """Copies sources and server below directory, builds and installs there; returns the path of pg_config."""
    source = directory / "src"
    shutil.copytree(SOURCE, source, symlinks=True, ignore=NOT_SOURCE)
    pg_config = copy_server(directory / "root", system_pg_config())
    make(source, pg_config)
    make(source, pg_config, "install")
    return pg_config


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))

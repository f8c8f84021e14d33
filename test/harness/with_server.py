"""Runs a command beside a private server with the extension in its database postgres; ends the server after it.

    python3 -m harness.with_server PG_CONFIG DIRECTORY COMMAND...

The command finds the server through PGHOST, PGPORT, PGUSER and PGDATABASE. Its exit code is passed on.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from harness.postgres import Postgres


def main(pg_config, directory, *command):
    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    server = Postgres(Path(directory), pg_config).create()
    try:
        server.start()
        server.execute("CREATE EXTENSION outbox_relay")
        where = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "postgres", "PGDATABASE": "postgres"}
        return subprocess.run(command, env={**os.environ, **where}, check=False).returncode
    finally:
        server.remove()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

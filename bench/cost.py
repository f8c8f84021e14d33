"""What statements cost: the time that the session's process spends on the CPU, per row.

Not what the clock says: other work of the machine would count. The process hardly waits for anything else, as fsync
is off."""


def time_on_cpu(pid):
    """Seconds. The scheduler counts them exactly, where /proc/PID/stat counts ticks."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as stat:
        return int(stat.read().split()[0]) / 1e9


def per_row(session, statement, rows):
    """Microseconds per row of a statement and its commit."""
    before = time_on_cpu(session.info.backend_pid)
    session.execute(statement)
    return (time_on_cpu(session.info.backend_pid) - before) / rows * 1e6


def one_by_one(statement, rows):
    """The statement for each row of the range, `i` is its number: all in one transaction, and inside the server, so
    that no client is measured."""
    return f"DO $$ BEGIN FOR i IN {rows.start}..{rows.stop - 1} LOOP {statement}; END LOOP; END $$"

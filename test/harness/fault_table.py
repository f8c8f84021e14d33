"""The fault table: a line per fault with what was committed, what arrived, and how late. Kept in docs/reliability.md.

A line is that of the fault's latest run: a run of some faults only replaces their lines.
"""

from dataclasses import asdict, dataclass

BEGIN = "<!-- fault table: test/faults/all writes what is between these two lines -->"
END = "<!-- end of the fault table -->"
HEAD = ("| fault | committed | received | lost | phantom | out of order | repeats | longest delay |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n")


@dataclass
class Row:
    """Sums over all relays; longest_delay in seconds, from capture to the consumer. remark: what a reader must know."""

    subject: str
    fault: str
    committed: int = 0
    received: int = 0
    lost: int = 0
    phantom: int = 0
    out_of_order: int = 0
    repeats: int = 0
    longest_delay: float = 0.0
    remark: str = ""

    def add(self, report):
        self.committed += report.committed
        self.received += report.received
        self.lost += len(report.lost)
        self.phantom += len(report.phantom)
        self.out_of_order += len(report.out_of_order)
        self.repeats += report.repeats
        self.longest_delay = max(self.longest_delay, report.longest_delay)

    def as_dict(self):
        return asdict(self)

    def line(self):
        name = f"{self.fault} ({self.remark})" if self.remark else self.fault
        return (f"| {self.subject}: {name} | {self.committed} | {self.received} | {self.lost} | {self.phantom}"
                f" | {self.out_of_order} | {self.repeats} | {self.longest_delay:.1f} s |")


def key_of(line):
    """What tells a line of the table from the others: subject and fault, without the remark."""
    return line.split("|")[1].split(" (")[0].strip()


def write(path, rows):
    """Puts the rows into the table that the page keeps; lines of other faults stay."""
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    kept, _, after = rest.partition(END)
    lines = {key_of(line): line for line in kept.splitlines() if line.startswith("| ") and not line.startswith("| fault |")}
    lines.update({key_of(row.line()): row.line() for row in rows})
    table = HEAD + "".join(f"{lines[key]}\n" for key in sorted(lines))
    path.write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")

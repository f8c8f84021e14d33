"""Random values of every built-in type, as the text that the type's input function takes. None is SQL's null.

A generator takes a random.Random, so a seed makes a whole run again. All of them like the edges: what is empty, first, last,
infinite, quoted, or just beside one of these.
"""

import ipaddress
import json
import struct

NULL = None
MEGABYTE = 2**20
CONTROL = "".join(map(chr, range(1, 32))) + "\x7f"
SPECIAL = "\"'\\/{}[](),;:<>&%$ \t\n\r\b\f"
UNICODE = "éßİçñ€𝄞😀漢字\u00a0\u2028\u2029\ufeff\u0301\ufffd\uffff\U0010ffff"
WORDS = ["", "a", "NULL", "null", "true", "value", "Login fails", "O'Hara", "C:\\dir", '"quoted"', "\\u0000", "</script>"]


def text(rng):
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(WORDS)
    if kind < 0.4:      # a special character at every place of a word of eight bytes
        plain = ["x"] * rng.randrange(1, 20)
        plain[rng.randrange(len(plain))] = rng.choice(CONTROL + SPECIAL + UNICODE)
        return "".join(plain)
    alphabet = rng.choice((CONTROL, SPECIAL, UNICODE, "abc", "0123456789", CONTROL + SPECIAL + UNICODE + "xyz"))
    return "".join(rng.choices(alphabet, k=int(rng.expovariate(1 / 12))))


def large(rng):
    """A megabyte: what the log keeps outside the row."""
    piece = text(rng) + "%x" % rng.getrandbits(64)
    return (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]


# Numbers

def integer(bits):
    edges = [0, 1, -1, 9, 10, 99, 100, 2**(bits - 1) - 1, -2**(bits - 1)]

    def generate(rng):
        return str(rng.choice(edges) if rng.random() < 0.3 else rng.randrange(-2**(bits - 1), 2**(bits - 1)) >> rng.randrange(bits))
    return generate


def unsigned(bits):
    return lambda rng: str(rng.choice((0, 1, 2**bits - 1)) if rng.random() < 0.2 else rng.getrandbits(bits) >> rng.randrange(bits))


def float_number(rng, single=False):
    """Any finite pattern of bits, or a number that people write."""
    while True:
        kind = rng.random()
        if kind < 0.3:
            return rng.choice((0.0, -0.0, 0.1, 1e15, 1e16, -1e-5, 1e22, 123456.789, 16777217.0, 3.4028234e38, 1.17549435e-38))
        pattern = struct.pack("<I", rng.getrandbits(32)) if single else struct.pack("<Q", rng.getrandbits(64))
        number, = struct.unpack("<f" if single else "<d", pattern)
        if number - number == 0:
            return number


def floating(single=False):
    edges = ["NaN", "Infinity", "-Infinity"]
    edges += ["3.4028235e38", "1e-45", "-1.1754944e-38"] if single else ["1.7976931348623157e308", "5e-324", "-2.2250738585072014e-308"]
    return lambda rng: rng.choice(edges) if rng.random() < 0.2 else repr(float_number(rng, single))


def numeric(rng):
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(("NaN", "Infinity", "-Infinity", "0", "0.00", "-0.000001", "1e100", "1e-100", "1e1000", "0.1e-16000"))
    digits = "".join(rng.choices("0123456789", k=rng.choice((1, 4, 9, 18, 40, 300))))
    point = rng.randrange(len(digits) + 1)
    return rng.choice(("", "-")) + digits[:point].rjust(1, "0") + (f".{digits[point:]}" if point < len(digits) else "")


def money(rng):
    cents = rng.randrange(-2**63, 2**63) >> rng.randrange(63)
    return decimal_text(cents)


def decimal_text(cents):
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


# Times

def day(rng, last_year):
    """The days at both ends of a month, in a year as any other or at the edge of something."""
    if rng.random() < 0.1:
        return "4713-11-24", " BC"     # the first of all
    era, year = rng.choice((("", rng.randrange(1, 3000)), ("", rng.choice((1, 1970, 2000, 9999, 10000, 99999, last_year))),
                            (" BC", rng.choice((1, 44, 4712)))))
    month = rng.choice((1, 12, rng.randrange(1, 13)))
    last = 28 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
    return f"{year:04}-{month:02}-{rng.choice((1, last, rng.randrange(1, last + 1))):02}", era


def clock(rng):
    if rng.random() < 0.2:
        return rng.choice(("00:00:00", "23:59:59.999999", "12:00:00.1", "00:00:00.000001"))
    fraction = rng.choice(("", ".5", ".120", f".{rng.randrange(10**6):06}"))
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}{fraction}"


def zone(rng):
    return rng.choice(("+00", "Z", "-03:30", "+05:45", "+14", "-12", f"{rng.choice('+-')}{rng.randrange(13):02}:{rng.randrange(60):02}"))


def infinite_or(generate):
    return lambda rng: rng.choice(("infinity", "-infinity")) if rng.random() < 0.1 else generate(rng)


def date(rng):
    written, era = day(rng, 5874896)
    return written + era


def timestamp(rng):
    written, era = day(rng, 294275)
    return f"{written} {clock(rng)}{era}"


def timestamptz(rng):
    written, era = day(rng, 294275)
    return f"{written} {clock(rng)}{zone(rng)}{era}"


def interval(rng):
    if rng.random() < 0.1:
        return rng.choice(("0", "178000000 years", "-178000000 years", "00:00:00.000001", "-1 day +00:00:01"))
    parts = [f"{rng.randrange(-400, 400)} {unit}" for unit in ("years", "months", "days", "hours", "minutes") if rng.random() < 0.5]
    return " ".join(parts + [f"{rng.randrange(-10**9, 10**9) / 10**6:.6f} seconds"])


# Bits, bytes, identities

def bits(rng):
    return "".join(rng.choices("01", k=rng.choice((0, 1, 7, 8, 9, 64, 100))))


def some_bytes(rng):
    return "\\x" + rng.randbytes(rng.choice((0, 1, 7, 8, 40))).hex()


def uuid(rng):
    return rng.choice(("0" * 32, "f" * 32, rng.randbytes(16).hex()))


def mac(size):
    return lambda rng: rng.randbytes(size).hex(":")


def network(strict):
    def generate(rng):
        size = rng.choice((4, 16))
        packed = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size), bytes(10) + b"\xff\xff" + rng.randbytes(4) if size == 16
                             else rng.randbytes(4)))
        address = f"{ipaddress.ip_address(packed)}/{rng.randrange(size * 8 + 1)}"
        return str(ipaddress.ip_network(address, strict=False)) if strict else address
    return generate


def lsn(rng):
    return f"{rng.getrandbits(32) >> rng.randrange(32):X}/{rng.getrandbits(32):X}"


def snapshot(rng):
    first = rng.randrange(1, 2**40)
    last = first + rng.randrange(50)
    return f"{first}:{last}:{','.join(map(str, sorted(rng.sample(range(first, last), rng.randrange(min(4, last - first + 1))))))}"


def acl(rng):
    role = rng.choice(("", "postgres", '"An ""odd"" role"'))
    return f"{role}={''.join(rng.sample('arwdDxt', rng.randrange(8)))}/postgres"


# Shapes

def coordinate(rng):
    return floating()(rng)


def point(rng):
    return f"({coordinate(rng)},{coordinate(rng)})"


def points(rng, least=1):
    return ",".join(point(rng) for _ in range(rng.randrange(least, 5)))


def line(rng):
    return f"{{{rng.choice((1, -0.5, 1e300))!r},{float_number(rng)!r},{float_number(rng)!r}}}"


def path(rng):
    return rng.choice(("[{}]", "({})")).format(points(rng))


def circle(rng):
    return f"<{point(rng)},{abs(float_number(rng))!r}>"


# Documents

def json_value(rng, depth=0):
    """JSON as nobody would write it, but may: spaces anywhere, escapes where none are needed, keys twice."""
    def space():
        return rng.choice(("", "", " ", "\n\t", "\r\n  "))

    kind = rng.random()
    if kind < 0.4 and depth < 4:
        items = [json_value(rng, depth + 1) for _ in range(rng.randrange(4))]
        if rng.random() < 0.5:
            return f"{space()}[{','.join(items)}{space()}]{space()}"
        members = [f"{space()}{json_string(rng)}{space()}:{item}" for item in items]
        return f"{space()}{{{','.join(members + members[:1])}{space()}}}{space()}"
    scalar = json_string(rng) if kind < 0.8 else rng.choice(("null", "true", "false", "0", "-0", "-0.0", "1E+2", "1e400", "1.50", "12345678901234567890"))
    return f"{space()}{scalar}{space()}"


def json_string(rng):
    written = json.dumps(text(rng), ensure_ascii=rng.random() < 0.5)
    return written.replace("/", "\\/") if rng.random() < 0.3 else written


def json_text(rng):
    """What json holds and jsonb does not: the character 0, and half a surrogate pair."""
    odd = rng.random()
    return rng.choice(('"\\u0000"', '{"a\\u0000b" : 1}', '["\\ud834"]')) if odd < 0.1 else json_value(rng)


def jsonpath(rng):
    key = json.dumps(text(rng), ensure_ascii=False)
    return rng.choice(("$", "strict $.a[*].b", "lax $[0 to last] ? (@ > 1.50)", "$.{}", "$ ? (@.{} == {} || exists(@.x))",
                       '$.a ? (@ like_regex "^a.*\\\\d" flag "i")', "$.keyvalue().value.size()", "-$.a + 1e10")).format(key, key)


def xml(rng):
    legal = "".join(c for c in text(rng) if c >= " " and c not in "\x7f\uffff" or c in "\t\n\r")
    escaped = legal.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return rng.choice(('<a b="{}">{}</a>', "{}<x/>{}", "<?xml version=\"1.0\"?><r>{}<!-- c -->{}</r>", "<a><![CDATA[]]></a>")).format(escaped, escaped)


def lexeme(rng):
    return "'" + (text(rng)[:200] or "x").replace("\\", "\\\\").replace("'", "''") + "'"


def tsvector(rng):
    return " ".join(lexeme(rng) + rng.choice(("", ":1", ":2A,3", ":16383C")) for _ in range(rng.randrange(5)))


def tsquery(rng):
    query = lexeme(rng) + rng.choice(("", ":*", ":AB", ":*D"))
    for _ in range(rng.randrange(4)):
        query = f"({rng.choice(('', '!'))}{query} {rng.choice(('&', '|', '<->', '<3>'))} {lexeme(rng)})"
    return query


# Ranges

def range_of(bound):
    """bound(rng) gives something that orders, and the text it is written as."""
    def generate(rng):
        if rng.random() < 0.1:
            return "empty"
        first, last = sorted((bound(rng), bound(rng)))
        low, high = (f'"{escape(one[1])}"' if rng.random() < 0.85 else "" for one in (first, last))
        return rng.choice("[(") + f"{low},{high}" + rng.choice("])")
    return generate


def escape(written):
    return written.replace("\\", "\\\\").replace('"', '\\"')


def multirange_of(generate):
    return lambda rng: "{" + ",".join(generate(rng) for _ in range(rng.randrange(4))) + "}"


def whole(bits_):
    def bound(rng):
        number = rng.randrange(-2**(bits_ - 1), 2**(bits_ - 1) - 1) >> rng.randrange(bits_)
        return number, str(number)
    return bound


def decimal(rng):
    cents = rng.randrange(-10**12, 10**12)
    return cents, decimal_text(cents)


def moment(form):
    def bound(rng):
        if rng.random() < 0.05:
            return (9,), "infinity"
        parts = (rng.randrange(1, 10000), rng.randrange(1, 13), rng.randrange(1, 29), rng.randrange(24), rng.randrange(60), rng.randrange(10**6))
        return (1, parts), form.format(*parts)
    return bound


DAY, MOMENT = "{:04}-{:02}-{:02}", "{:04}-{:02}-{:02} {:02}:{:02}:07.{:06}"

RANGES = {
    "int4": range_of(whole(32)),
    "int8": range_of(whole(64)),
    "num": range_of(decimal),
    "date": range_of(moment(DAY)),
    "ts": range_of(moment(MOMENT)),
    "tstz": range_of(moment(MOMENT + "+00")),
}


# All of them

def nothing(_):
    return NULL


BUILT_IN = {
    "bool": lambda rng: rng.choice("tf"),
    "int2": integer(16), "int4": integer(32), "int8": integer(64),
    "float4": floating(single=True), "float8": floating(), "numeric": numeric, "money": money,
    "oid": unsigned(32), "xid": unsigned(32), "cid": unsigned(32), "xid8": unsigned(64),
    "text": text, "varchar": text, "bpchar": text, "refcursor": text,
    "name": lambda rng: text(rng)[:15],
    "char": lambda rng: rng.choice(("é", "漢", chr(rng.randrange(1, 128)))),
    "bytea": some_bytes, "bit": bits, "varbit": bits, "uuid": uuid,
    "date": infinite_or(date), "timestamp": infinite_or(timestamp), "timestamptz": infinite_or(timestamptz),
    "time": lambda rng: rng.choice(("24:00:00", clock(rng))), "timetz": lambda rng: clock(rng) + zone(rng), "interval": interval,
    "inet": network(strict=False), "cidr": network(strict=True), "macaddr": mac(6), "macaddr8": mac(8),
    "point": point, "lseg": lambda rng: f"[{point(rng)},{point(rng)}]", "box": lambda rng: f"{point(rng)},{point(rng)}",
    "path": path, "polygon": lambda rng: f"({points(rng)})", "line": line, "circle": circle,
    "json": json_text, "jsonb": json_value, "jsonpath": jsonpath, "xml": xml, "tsvector": tsvector, "tsquery": tsquery,
    "pg_lsn": lsn, "pg_snapshot": snapshot, "txid_snapshot": snapshot, "aclitem": acl,
    "tid": lambda rng: f"({unsigned(32)(rng)},{unsigned(16)(rng)})",
    "int2vector": lambda rng: " ".join(integer(16)(rng) for _ in range(rng.randrange(4))),
    "oidvector": lambda rng: " ".join(unsigned(32)(rng) for _ in range(rng.randrange(4))),
    **{f"{name}range": generate for name, generate in RANGES.items()},
    **{f"{name}multirange": multirange_of(generate) for name, generate in RANGES.items()},
    # Their input functions refuse everything, and no table of the server shows a value.
    "gtsvector": nothing, "pg_brin_bloom_summary": nothing, "pg_brin_minmax_multi_summary": nothing,
}

# Of which catalog's rows these are numbers; some numbers of nothing are put in.
OBJECTS = {
    "regclass": "pg_class", "regcollation": "pg_collation", "regconfig": "pg_ts_config", "regdictionary": "pg_ts_dict",
    "regnamespace": "pg_namespace", "regoper": "pg_operator", "regoperator": "pg_operator", "regproc": "pg_proc",
    "regprocedure": "pg_proc", "regrole": "pg_authid", "regtype": "pg_type",
}

# The server's own values of types whose input functions refuse everything.
SERVERS_OWN = {
    "pg_node_tree": "SELECT adbin FROM pg_attrdef UNION ALL SELECT ev_action FROM pg_rewrite",
    "pg_ndistinct": "SELECT stxdndistinct FROM pg_statistic_ext_data",
    "pg_dependencies": "SELECT stxddependencies FROM pg_statistic_ext_data",
    "pg_mcv_list": "SELECT stxdmcv FROM pg_statistic_ext_data",
}

LARGE = {
    "text": large, "varchar": large, "bpchar": large, "refcursor": large,
    "bytea": lambda rng: "\\x" + rng.randbytes(MEGABYTE // 2).hex(),
    "json": lambda rng: '{ "a" : %s}' % json.dumps(large(rng)), "jsonb": lambda rng: json.dumps([large(rng)]),
    "numeric": lambda rng: "-" + "".join(rng.choices("123456789", k=130_000)) + ".5",
    "xml": lambda rng: f"<a>{'x' * MEGABYTE}</a>", "varbit": lambda rng: "01" * 50_000,
}


# Values of values

def array(rng, generate, delimiter=","):
    """Of up to three dimensions, which may begin anywhere; some elements are null."""
    if rng.random() < 0.15:
        return "{}"
    sizes = [rng.randrange(1, 4) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    bounds = ""
    if rng.random() < 0.3:
        starts = [rng.randrange(-3, 5) for _ in sizes]
        bounds = "".join(f"[{start}:{start + size - 1}]" for start, size in zip(starts, sizes)) + "="

    def level(rest):
        if rest:
            return "{" + delimiter.join(level(rest[1:]) for _ in range(rest[0])) + "}"
        element = NULL if rng.random() < 0.15 else generate(rng)
        return "NULL" if element is NULL else f'"{escape(element)}"'
    return bounds + level(sizes)


def row(fields):
    return "(" + ",".join("" if field is NULL else f'"{escape(field)}"' for field in fields) + ")"


def null_or(generate, share=0.1):
    return lambda rng: NULL if rng.random() < share else generate(rng)

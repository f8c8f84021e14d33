"""Settings of a session that change how values are written: the canonical ones, and any others."""

CANONICAL = {
    "DateStyle": "ISO", "IntervalStyle": "postgres", "TimeZone": "UTC", "extra_float_digits": "1", "bytea_output": "hex",
    "lc_monetary": "C", "search_path": "pg_catalog, pg_temp", "quote_all_identifiers": "off",
}

OTHERS = {
    "DateStyle": [f"{style}, {order}" for style in ("ISO", "SQL", "Postgres", "German") for order in ("DMY", "MDY", "YMD")],
    "IntervalStyle": ["postgres", "postgres_verbose", "sql_standard", "iso_8601"],
    "TimeZone": ["UTC", "Etc/UTC", "GMT", "America/St_Johns", "Asia/Kathmandu", "Europe/Berlin", "Pacific/Apia", "<+03>-03", "-11:30"],
    "extra_float_digits": ["-15", "-3", "0", "1", "3"],
    "bytea_output": ["hex", "escape"],
    "search_path": ["pg_catalog", '"$user", public', "fidelity, pg_catalog", '"An ""odd"" schema", nowhere', "information_schema", ""],
    "quote_all_identifiers": ["on", "off"],
    # These ought to change nothing.
    "xmloption": ["content", "document"],
    "xmlbinary": ["base64", "hex"],
    "array_nulls": ["on", "off"],
    "standard_conforming_strings": ["on", "off"],
    "default_text_search_config": ["pg_catalog.simple", "pg_catalog.english"],
}


def random_settings(rng, locale):
    choices = {**OTHERS, **{name: ["C", locale] for name in ("lc_monetary", "lc_numeric", "lc_time")}}
    return {name: rng.choice(values) for name, values in choices.items()}


def apply(session, settings):
    calls = ", ".join(["pg_catalog.set_config(%s, %s, false)"] * len(settings))
    session.execute(f"SELECT {calls}", [part for setting in settings.items() for part in setting])

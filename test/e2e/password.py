"""The broker's password never shows: not in SQL, not in a log, not in an error."""

import psycopg
import pytest

from harness.waiting import wait_until

PASSWORD = "S3cret/pass:word"
ENCODED = "S3cret%2Fpass%3Aword"
LEAKS = (PASSWORD, ENCODED, "S3cret", "0ther", "wr0ng")
LOOKS = [
    "SHOW outbox_relay.amqp_url",
    "SELECT current_setting('outbox_relay.amqp_url')",
    "SELECT pg_settings::text FROM pg_settings",
    "SHOW ALL",
    "SELECT s::text FROM outbox.stats() AS s",
    "SELECT pg_stat_activity::text FROM pg_stat_activity",
    "SELECT r::text FROM outbox.relay AS r",
]
COMPLAINT = 'invalid value for parameter "outbox_relay.amqp_url"'
BAD_URLS = [
    "amqp://relay:S3cret@",
    "amqp://relay:S3cret@host:notaport/",
    "amqp://relay:S3cret%zz@host",
    "http://relay:S3cret@host",
    "relay:S3cret@host",
    "amqp://relay:S3cret@host:99999",
    "amqp://relay:S3cret@host/a/b",
    "amqp://relay:S3cret@host/",
    "amqp:relay:S3cret",
]


def assert_hidden(text):
    for secret in LEAKS:
        assert secret not in text, f"{secret} shows in: {text[:2000]}"


@pytest.fixture
def secret_user(broker):
    broker.add_user("relay", PASSWORD)
    yield broker.url("relay", ENCODED)
    broker.ctl("delete_user", "relay")


# The server itself logs the text of a statement that failed, and ALTER SYSTEM has the URL in its text.
@pytest.mark.server(log_min_messages="debug1", log_min_error_statement="panic", connected=False)
def test_the_password_never_shows_in_sql_in_the_log_or_in_errors(stage, secret_user):
    def look_everywhere():
        with stage.pg.connect() as session:
            for look in LOOKS:
                assert_hidden(str(session.execute(look).fetchall()))
        assert_hidden(stage.pg.log_text())

    stage.pg.set(outbox_relay__amqp_url=secret_user)
    stage.write(10)
    stage.wait_settled()
    assert "relay@" in stage.stats()["broker"]
    look_everywhere()

    stage.pg.set(outbox_relay__amqp_url=stage.broker.url("relay", "wr0ng"))
    wait_until(lambda: stage.stats()["last_error"], 15, "the login is refused")
    look_everywhere()

    stage.pg.set(outbox_relay__amqp_url="amqp://relay:0ther@127.0.0.1:1/%2f")
    wait_until(lambda: ":1/" in stage.stats()["broker"], 15, "the next URL is tried")
    look_everywhere()

    stage.pg.set(outbox_relay__amqp_url=secret_user)
    stage.write(10)
    assert stage.report().exact()
    stage.pg.restart()
    look_everywhere()
    for url in BAD_URLS:
        with pytest.raises(psycopg.Error) as refused:
            stage.pg.execute(f"ALTER SYSTEM SET outbox_relay.amqp_url = '{url}'")
        assert "amqp_url" in str(refused.value)
        assert_hidden(str(refused.value))
        complaints = stage.pg.log_text().count(COMPLAINT)
        stage.pg.set(outbox_relay__amqp_url=url)
        wait_until(lambda: stage.pg.log_text().count(COMPLAINT) > complaints, 5, f"{url} is refused by a reload")
    look_everywhere()


def test_a_role_that_monitors_does_not_see_the_url(stage):
    stage.pg.execute("CREATE ROLE watcher LOGIN IN ROLE pg_monitor")
    with stage.pg.connect(user="watcher") as session:
        assert "guest:guest" not in str(session.execute("SELECT pg_settings::text FROM pg_settings").fetchall())

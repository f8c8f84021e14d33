"""Credentials that are not in the URL: from a file, or from a command; a rotated password heals by itself."""

import json

import pytest

from harness import processes
from harness.waiting import wait_until

OLD, NEW = "0ldS3cret: %", "n3wS3cret\u00fc"
LOOKS = ["SHOW ALL", "SELECT pg_settings::text FROM pg_settings", "SELECT s::text FROM outbox.stats() AS s",
         "SELECT pg_stat_activity::text FROM pg_stat_activity"]


@pytest.fixture
def user(broker):
    broker.add_user("rotating", OLD)
    yield "rotating"
    broker.ctl("delete_user", "rotating")


@pytest.fixture
def secret_file(workdir):
    return workdir / "credentials"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    processes.own(path)


def rotate(broker):
    broker.ctl("change_password", "rotating", NEW)
    broker.ctl("close_all_user_connections", "rotating", "rotated")


def assert_hidden(stage):
    shown = stage.pg.log_text() + "".join(str(stage.pg.execute(look)) for look in LOOKS)
    for secret in (OLD, NEW, "S3cret"):
        assert secret not in shown


def plain(password):
    return f"rotating\n{password}\n"


def as_json(password):
    return json.dumps({"note": [1], "username": "rotating", "password": password}, indent=1)


@pytest.mark.server(connected=False, log_min_messages="debug1")
@pytest.mark.parametrize("form", [plain, as_json])
def test_a_password_that_was_rotated_heals_by_itself(stage, user, secret_file, form):
    write(secret_file, form(OLD))
    stage.pg.set(outbox_relay__credentials_file=secret_file,
                 outbox_relay__amqp_url=f"amqp://127.0.0.1:{stage.broker.port}")
    stage.write(100)
    stage.wait_settled()
    assert stage.stats()["broker"].startswith("amqp://rotating@")

    rotate(stage.broker)
    stage.write(100)
    wait_until(lambda: 'refused the login of user "rotating"' in (stage.stats()["last_error"] or ""), 30,
               "the login is refused")
    write(secret_file, form(NEW))
    stage.wait_settled(60)
    report = stage.report()
    assert not (report.lost or report.phantom or report.out_of_order), report
    assert_hidden(stage)


@pytest.mark.server(connected=False, log_min_messages="debug1")
def test_a_command_prints_them_anew_for_each_connection(stage, user, secret_file):
    write(secret_file, as_json(OLD))
    stage.pg.set(outbox_relay__credentials_command=f"cat {secret_file}",
                 outbox_relay__amqp_url=f"amqp://127.0.0.1:{stage.broker.port}")
    stage.write(100)
    stage.wait_settled()
    rotate(stage.broker)
    write(secret_file, plain(NEW))
    stage.write(100)
    stage.wait_settled(60)
    assert_hidden(stage)


@pytest.mark.server(connected=False, outbox_relay__connect_timeout="1s")
@pytest.mark.parametrize("settings, problem", [
    ({"command": "exit 7"}, "outbox_relay.credentials_command: the command failed with exit code 7"),
    ({"command": "sleep 60"}, "outbox_relay.credentials_command: the command did not end in time"),
    ({"command": "echo '{\"user\": \"S3cret'"}, "the broker's credentials are not valid JSON"),
    ({"command": "echo '{\"user\": \"a\", \"pass\": \"S3cret\"}'"}, "lack \"user\" or \"password\""),
    ({"command": "echo S3cret"}, "the broker's credentials are not two lines"),
    ({"file": "/nowhere/at/all"}, "could not read outbox_relay.credentials_file \"/nowhere/at/all\""),
    ({"file": "/nowhere/at/all", "command": "true"}, "both outbox_relay.credentials_file and"),
], ids=["fails", "hangs", "broken JSON", "no password", "one line", "no file", "both"])
def test_what_is_wrong_with_them_is_said_without_them(stage, settings, problem):
    stage.write(1)
    stage.pg.set(outbox_relay__amqp_url=stage.broker.url(),
                 **{f"outbox_relay__credentials_{name}": value.replace("'", "''") for name, value in settings.items()})
    wait_until(lambda: problem in (stage.stats().get("last_error") or ""), 15, problem)
    assert "S3cret" not in str(stage.stats())
    stage.pg.set(**{f"outbox_relay__credentials_{name}": None for name in settings})
    stage.wait_settled(30)

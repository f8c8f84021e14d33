"""What tests, demo and bench run on: a private PostgreSQL, a private RabbitMQ, an independent consumer.

    build.py      a private copy of the server tree with the extension built and installed into it
    postgres.py   a throw-away PostgreSQL server
    broker.py     a throw-away RabbitMQ
    consumer.py   what a queue holds, seen by an independent client (pika)
    checker.py    committed events against received ones: lost, phantom, out of order, repeated
    workload.py   writers that commit, roll back, sleep and collide
    poller.py     a cursor on ids, the classic mistake: the property test must see it lose events

Every server listens on loopback, on ports found free, and lives below one temporary directory. Nothing here
stops a process it did not start.
"""

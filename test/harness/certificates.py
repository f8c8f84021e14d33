"""A certificate authority of the tests' own, by the openssl command."""

from dataclasses import dataclass
from pathlib import Path

from harness import processes

CONFIGURATION = """\
[ca]
default_ca = own
[own]
dir = {directory}
database = {directory}/index.txt
new_certs_dir = {directory}
certificate = {directory}/ca.pem
private_key = {directory}/ca.key
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""


@dataclass
class Certificate:
    cert_file: Path
    key_file: Path


class Authority:
    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir()
        processes.own(self.directory)
        self.ca_file = self.directory / "ca.pem"
        (self.directory / "index.txt").touch()
        processes.own(self.directory / "index.txt")
        (self.directory / "openssl.cnf").write_text(CONFIGURATION.format(directory=self.directory), encoding="ascii")
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={self.directory.name}",
                      "-keyout", self.directory / "ca.key", "-out", self.ca_file, "-days", "30")

    def issue(self, name, *alternative_names, expired=False):
        """A certificate for the names ("DNS:localhost", "IP:127.0.0.1")."""
        made = Certificate(self.directory / f"{name}.pem", self.directory / f"{name}.key")
        request = self.directory / f"{name}.csr"
        names = ["-addext", "subjectAltName=" + ",".join(alternative_names)] if alternative_names else []
        self._openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", made.key_file,
                      "-out", request, *names)
        validity = ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"] if expired else ["-days", "30"]
        self._openssl("ca", "-batch", "-notext", "-config", self.directory / "openssl.cnf", "-in", request,
                      "-out", made.cert_file, *validity)
        return made

    @staticmethod
    def _openssl(*arguments):
        processes.run(["openssl", *(str(argument) for argument in arguments)])

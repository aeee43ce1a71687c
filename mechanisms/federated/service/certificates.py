"""Certificates for two parties: an authority that signs both and is then forgotten."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.core.errors import InvalidParameter, MissingExtra
from dpcheck.core.validate import count
from dpcheck.mechanisms.federated.protocol.messages import Party

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

CERTIFICATE, KEY, AUTHORITY = "certificate.pem", "key.pem", "authority.pem"


def host_name(party: Party) -> str:
    """The name a party's certificate is made out to."""
    return f"party-{party}.dpcheck"


def make_certificates(directory: Path, days: int = 365) -> list[Path]:
    """Write DIR/a and DIR/b: each party's certificate, its key, and the authority to check by.

    The authority's own key is never written, so nobody can add a third party. Hand each party its
    folder over a channel you trust.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise MissingExtra(
            "making certificates needs cryptography, which is not installed: "
            "pip install 'dpcheck[ftl]'."
        ) from None
    count("days", days)
    folders = {party: directory / party for party in ("a", "b")}
    for folder in folders.values():
        if folder.exists():
            raise InvalidParameter(
                f"{folder} exists; choose another directory, or remove it first.", name="directory"
            )
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _signed("dpcheck authority", authority_key.public_key(), None, authority_key, days)
    written = []
    for party, folder in folders.items():
        key = ec.generate_private_key(ec.SECP256R1())
        name = host_name("a" if party == "a" else "b")
        certificate = _signed(name, key.public_key(), authority, authority_key, days)
        folder.mkdir(parents=True, mode=0o700)
        _write(folder / KEY, _private_bytes(key), 0o600)
        _write(folder / CERTIFICATE, _pem(certificate), 0o644)
        _write(folder / AUTHORITY, _pem(authority), 0o644)
        written.append(folder)
    return written


def _signed(
    name: str,
    public_key: ec.EllipticCurvePublicKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
    days: int,
) -> x509.Certificate:
    """A certificate; without an issuer, the authority's own."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now, root = datetime.now(UTC), issuer is None
    uses = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(
            x509.BasicConstraints(ca=root, path_length=0 if root else None), critical=True
        )
        .add_extension(
            x509.KeyUsage(digital_signature=not root, key_cert_sign=root, crl_sign=root, **uses),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if not root:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization as s

    data: bytes = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    return data


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    data: bytes = certificate.public_bytes(Encoding.PEM)
    return data


def _write(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)

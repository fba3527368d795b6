"""The other side of SAML, by implementations that are not ours.

saml_peer.py describe CERTIFICATE        metadata of an identity provider, made by pysaml2, to standard output
saml_peer.py sign CERTIFICATE KEY        standard input, signed by signxml, to standard output
saml_peer.py check                       standard input against the OASIS schema; then what pysaml2 reads in it, as JSON
"""

import json
import sys


def describe(certificate: str) -> None:
    from saml2.config import IdPConfig
    from saml2.metadata import entity_descriptor

    redirect = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
    post = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
    config = IdPConfig()
    config.load(
        {
            "entityid": "https://pysaml2.example.com/idp",
            "cert_file": certificate,
            "valid_for": 24,
            "service": {
                "idp": {
                    "endpoints": {
                        "single_sign_on_service": [
                            ("https://pysaml2.example.com/post", post),
                            ("https://pysaml2.example.com/redirect", redirect),
                        ],
                        "single_logout_service": [("https://pysaml2.example.com/logout", redirect)],
                    },
                    "name_id_format": ["urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"],
                }
            },
        }
    )
    descriptor = entity_descriptor(config)
    descriptor.id = "_described"
    print(descriptor.to_string().decode())


def sign(certificate: str, key: str) -> None:
    from lxml import etree
    from signxml import XMLSigner, methods

    root = etree.fromstring(sys.stdin.buffer.read())
    # Where the schema wants the signature: first. A signature that is moved afterwards changes its prefixes, and breaks.
    root.insert(0, etree.Element("{http://www.w3.org/2000/09/xmldsig#}Signature", Id="placeholder"))
    signer = XMLSigner(
        method=methods.enveloped,
        signature_algorithm="rsa-sha256",
        digest_algorithm="sha256",
        c14n_algorithm="http://www.w3.org/2001/10/xml-exc-c14n#",
    )
    with open(certificate) as cert_file, open(key, "rb") as key_file:
        signed = signer.sign(root, key=key_file.read(), cert=cert_file.read(), reference_uri="_described")
    print(etree.tostring(signed).decode())


def check() -> None:
    from saml2.md import entity_descriptor_from_string
    from saml2.xml.schema import validate

    text = sys.stdin.read()
    validate(text)
    descriptor = entity_descriptor_from_string(text)
    [provider] = descriptor.spsso_descriptor
    consumer = provider.assertion_consumer_service[0]
    print(
        json.dumps(
            {
                "entityId": descriptor.entity_id,
                "wantsSignedAssertions": provider.want_assertions_signed,
                "consumer": [consumer.binding, consumer.location],
                "keys": [key.use for key in provider.key_descriptor],
            }
        )
    )


commands = {"describe": describe, "sign": sign, "check": check}
commands[sys.argv[1]](*sys.argv[2:])

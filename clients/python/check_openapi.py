"""Every OpenAPI document that the service serves is valid: python check_openapi.py URL"""

import json
import ssl
import sys
import urllib.request

from openapi_spec_validator import validate

context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE


def read(path):
    with urllib.request.urlopen(sys.argv[1] + path, context=context) as answer:
        return json.load(answer)


documents = read("/openapi.json")["documents"]
for document in documents:
    validate(read(document["url"]))
    print(f"ok - {document['namespace']} {document['version']}")
print(f"{len(documents)} passed, 0 failed")

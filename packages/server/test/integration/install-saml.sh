#!/usr/bin/env bash
# Python's SAML implementation for the integration tests: it describes identity providers, and knows the OASIS schemas.
set -euo pipefail
cd "$(dirname "$0")"
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check -r saml-requirements.txt

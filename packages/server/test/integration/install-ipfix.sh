#!/usr/bin/env bash
# Python's decoder of IPFIX for the integration tests.
set -euo pipefail
cd "$(dirname "$0")"
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check -r ipfix-requirements.txt

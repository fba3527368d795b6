#!/usr/bin/env bash
# The S3 server of the integration tests, built from source (3 minutes on two cores, once): it checks signatures.
set -euo pipefail
version=v1.8.0
installed="$(go env GOPATH)/bin/versitygw"
[ -x "$installed" ] || go install "github.com/versity/versitygw/cmd/versitygw@$version"
"$installed" --version

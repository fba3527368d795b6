#!/usr/bin/env bash
# The LDAP server of the integration tests, from Debian.
set -euo pipefail
[ -x /usr/sbin/slapd ] && exit 0
exec "$(dirname "$0")/install-without-start.sh" slapd openssl

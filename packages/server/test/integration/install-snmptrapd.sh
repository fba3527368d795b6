#!/usr/bin/env bash
# The receiver of SNMP traps of the integration tests, from Debian.
set -euo pipefail
[ -x /usr/sbin/snmptrapd ] && exit 0
exec "$(dirname "$0")/install-without-start.sh" snmptrapd

#!/usr/bin/env bash
# The syslog server of the integration tests, from Debian.
set -euo pipefail
[ -x /usr/sbin/rsyslogd ] && ls /usr/lib/*/rsyslog/imrelp.so > /dev/null 2>&1 && exit 0
exec "$(dirname "$0")/install-without-start.sh" rsyslog rsyslog-relp

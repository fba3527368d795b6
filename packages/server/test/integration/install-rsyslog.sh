#!/usr/bin/env bash
# The syslog server of the integration tests, from Debian. Its package would start one: the tests start their own.
set -euo pipefail
[ -x /usr/sbin/rsyslogd ] && ls /usr/lib/*/rsyslog/imrelp.so > /dev/null 2>&1 && exit 0
policy=/usr/sbin/policy-rc.d
# A policy that is there already is somebody's: it stays, and decides.
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet=2
apt-get install --quiet=2 --yes --no-install-recommends rsyslog rsyslog-relp

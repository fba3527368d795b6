#!/usr/bin/env bash
# Installs packages of Debian without starting their services: the tests start their own. install-without-start.sh PACKAGE...
set -euo pipefail
policy=/usr/sbin/policy-rc.d
# A policy that is there already is somebody's: it stays, and decides.
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet=2
apt-get install --quiet=2 --yes --no-install-recommends "$@"

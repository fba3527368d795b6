#!/usr/bin/env bash
# What the worked examples in Python and for the shell need, from Debian.
set -euo pipefail
missing=()
for program in curl jq python3; do command -v "$program" > /dev/null || missing+=("$program"); done
[ ${#missing[@]} = 0 ] && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet=2
apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}"

#!/usr/bin/env bash
# Installs what the real stack needs on Debian or Ubuntu, and only what is
# missing: run again, it does nothing. No system service is started: the stack
# runs servers of its own, on private ports and folders.
#
#   deploy/install.sh                 redis mariadb mosquitto java maven
#   deploy/install.sh redis chromium  just these
set -euo pipefail

[ $# -gt 0 ] || set -- redis mariadb mosquitto java maven

# A program may stand where only root's PATH leads.
has() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v "$1" >/dev/null 2>&1; }

packages=()
need() { has "$1" || packages+=("$2"); }

for name in "$@"; do
  case "$name" in
    redis)     need redis-server redis-server; need redis-cli redis-tools ;;
    mariadb)   need mariadbd mariadb-server; need mariadb-install-db mariadb-server ;;
    mosquitto) need mosquitto mosquitto ;;
    java)      need java default-jre-headless ;;
    maven)     need mvn maven ;;
    chromium)  need chromium chromium ;;
    *) echo "install.sh: unknown name '$name' (redis mariadb mosquitto java maven chromium)" >&2; exit 2 ;;
  esac
done

[ ${#packages[@]} -gt 0 ] || exit 0

if ! has apt-get; then
  echo "install.sh: no apt-get here; install these yourself: ${packages[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  exec sudo -n bash "$0" "$@"
fi

# Debian asks this file whether a package may start its service: it may not.
if [ ! -e /usr/sbin/policy-rc.d ]; then
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod +x /usr/sbin/policy-rc.d
fi

export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -y -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
echo "install.sh: installing ${packages[*]}"
"${apt[@]}" update
"${apt[@]}" install --no-install-recommends "${packages[@]}"

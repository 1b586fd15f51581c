#!/bin/sh
# Draws a password for each MQTT user that has none, in a file of its own, and
# writes the broker's hashed list of all of them.
set -eu
cd /secrets
: >list.new
for user in "$@"; do
  if [ ! -s "$user.password" ]; then
    head -c 18 /dev/urandom | base64 | tr -d '\n' >"$user.password"
  fi
  mosquitto_passwd -b list.new "$user" "$(cat "$user.password")"
done
# The broker and our binaries run as different users, in containers that share
# nothing but this volume.
chmod 0444 ./*.password list.new
mv list.new passwords

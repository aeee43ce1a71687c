#!/bin/sh
# Debian's Chromium, for tests of the HTML report; nothing to do where one is installed.
set -eu
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update
    apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core >/dev/null
    exit 0
fi
echo "test-browser needs Chromium: install it (Debian: apt-get install chromium) and run this again." >&2
exit 2

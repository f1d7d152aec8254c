#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# install.sh LIST... : installs the packages named in the lists that are missing. Prints them first; sudo only when not root.
# A distribution without apt gets the names, to find its own.
set -eu

cd "$(dirname "$0")"
names=$(for list in "$@"; do grep -v '^#' "$list.txt"; done)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "This is not Debian. Install what your distribution calls these, then run the command again with PACKAGES=no:" >&2
	echo "$names" | sed 's/^/  /' >&2
	exit 130
fi

missing=$(for name in $names; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
done)
[ -n "$missing" ] || exit 0

echo "These packages are missing and will be installed:"
echo "$missing" | sed 's/^/  /'
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # words are meant to be split
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null

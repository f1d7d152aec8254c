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

native=$(dpkg --print-architecture)
# A package can be there for several architectures; one without a name of its own is meant for this machine.
installed() {
	case $1 in *:*) architecture=${1#*:} ;; *) architecture=$native ;; esac
	dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$1" 2>/dev/null | grep -qE "^($architecture|all) installed\$"
}
missing=$(for name in $names; do
	installed "$name" || echo "$name"
done)
[ -n "$missing" ] || exit 0

echo "These packages are missing and will be installed:"
echo "$missing" | sed 's/^/  /'
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
# A name with an architecture is only known when dpkg knows the architecture.
for architecture in $(echo "$missing" | sed -n 's/.*://p' | sort -u); do
	[ "$architecture" = "$native" ] || $sudo dpkg --add-architecture "$architecture"
done
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null

#!/bin/sh
# Makes what the driver needs besides this folder: an environment with the packages of requirements.in, which
# are locked first where they are not yet. mqcore takes this folder as it is: nothing is compiled.
set -e
cd "$(dirname "$0")"
command -v mqcore >/dev/null || { echo "build.sh: mqcore is not on PATH" >&2; exit 3; }
[ requirements.lock -nt requirements.in ] || mqcore envs lock --clients @FOLDER@
mqcore envs sync --clients @FOLDER@

#!/bin/sh
# The driver's tests: it builds, keeps mqcore's contract, and every number of points.toml is confirmed.
set -e
cd "$(dirname "$0")"
./build.sh
mqcore check-driver @FOLDER@
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
mqcore run points.toml --profile smoke --clients @FOLDER@ --output "$results/points"

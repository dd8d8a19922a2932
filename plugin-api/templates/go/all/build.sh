#!/bin/sh
# Builds @FOLDER@, the folder of the driver that mqcore takes.
set -e
cd "$(dirname "$0")"
for program in mqcore go cc; do
    command -v $program >/dev/null || { echo "build.sh: $program is not on PATH; README.md says what it takes" >&2; exit 3; }
done
# go.mod takes the package mqcore/driver from here: it comes with mqcore. export.map keeps Go's own symbols
# inside the library.
ln -sfn "$(dirname "$(dirname "$(readlink -f "$(command -v mqcore)")")")/share/mqcore/sdk" sdk
rm -f @FOLDER@/my-driver.so # a build that fails leaves no older driver behind
CGO_ENABLED=1 go build -trimpath -buildmode=c-shared \
    -ldflags="all='-extldflags=\"-Wl,--version-script=$PWD/sdk/export.map\"'" -o @FOLDER@/my-driver.so .
cp driver.toml @FOLDER@/

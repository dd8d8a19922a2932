#!/bin/sh
# Builds @FOLDER@, the folder of the driver that mqcore takes.
set -e
cd "$(dirname "$0")"
for program in mqcore cargo cc; do
    command -v $program >/dev/null || { echo "build.sh: $program is not on PATH; README.md says what it takes" >&2; exit 3; }
done
# Cargo.toml takes the crate mqcore-driver from here: it comes with mqcore.
ln -sfn "$(dirname "$(dirname "$(readlink -f "$(command -v mqcore)")")")/share/mqcore/sdk" sdk
rm -f @FOLDER@/my-driver.so # a build that fails leaves no older driver behind
cargo build --release
mkdir -p @FOLDER@
cp driver.toml @FOLDER@/
cp "${CARGO_TARGET_DIR:-build/cargo}/release/libmqcore_client.so" @FOLDER@/my-driver.so

#!/bin/sh
# Builds @FOLDER@, the folder of the driver that mqcore takes.
set -e
cd "$(dirname "$0")"
for program in mqcore cmake c++; do
    command -v $program >/dev/null || { echo "build.sh: $program is not on PATH; README.md says what it takes" >&2; exit 3; }
done
prefix=$(dirname "$(dirname "$(readlink -f "$(command -v mqcore)")")") # where its CMake package lies
rm -f @FOLDER@/my-driver.so # a build that fails leaves no older driver behind
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
cmake --build build

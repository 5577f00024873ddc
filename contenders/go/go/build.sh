#!/bin/sh
# Builds for the level of x86-64 that this processor has, as -march=native does for C++ and Rust:
# the toolchain's default is the oldest of them. `sh build.sh OUTPUT`, in the folder of go.mod.
set -eu

has() {
    for flag in "$@"; do
        grep -m 1 '^flags' /proc/cpuinfo | grep -qw "$flag" || return 1
    done
}

# A level that the environment names stands.
if [ -z "${GOAMD64:-}" ] && [ "$(go env GOARCH)" = amd64 ] && [ -r /proc/cpuinfo ]; then
    level=v1
    if has cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3; then
        level=v2
        if has abm avx avx2 bmi1 bmi2 f16c fma movbe xsave; then
            level=v3
            if has avx512f avx512bw avx512cd avx512dq avx512vl; then
                level=v4
            fi
        fi
    fi
    export GOAMD64="$level"
fi
exec go build -trimpath -buildvcs=false -mod=readonly -o "$1" ./go

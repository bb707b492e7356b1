#!/usr/bin/env bash
# Runs a Python program with these arguments.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec python3 -B "$@"

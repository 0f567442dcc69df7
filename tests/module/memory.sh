#!/bin/bash
# Allocation number 1, 2, 3... of each command fails: an error reply, and nothing has changed.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python memory.py

#!/bin/bash
# 10,000 random commands against an exact model, with restarts, rewrites, resyncs and failovers between.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python random_commands.py

#!/bin/bash
# The commands on sketches, in a real server.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python sketches.py

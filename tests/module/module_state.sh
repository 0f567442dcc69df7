#!/bin/bash
# Values as bytes: export, import, absorb, merge, and what the server does with files and copies.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python state.py

#!/bin/bash
# The commands on filters, in a real server.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python filters.py

#!/bin/bash
# Database files with damaged values, in a real server.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python rdb.py

#!/bin/bash
# What a server tells of the module: to clients, to clusters, to administrators.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python told.py

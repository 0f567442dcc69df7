#!/bin/bash
# How long large batches keep others waiting, in a real server.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python latency.py

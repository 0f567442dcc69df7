#!/bin/bash
# The examples of docs/redis.md print what the page says, and its list of commands is that of the module.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python docs.py

#!/bin/bash
# BF.*, CMS.* and TOPK.*: command by command and error by error, and through the clients of others.
cd "$(dirname "$0")" && BUILD=${BUILD:-$PWD/../../build} && export BUILD && . ./lib.sh && run_python face.py

#!/usr/bin/env bash
# The first minutes of the check: builds, regress and isolation tests.
exec "$(dirname "$0")/check.sh" quick

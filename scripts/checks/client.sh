#!/usr/bin/env bash
# Takes long. TAP: the C++ client, as scripts/client_tests.sh tests it.
exec "$(dirname "$0")/../client_tests.sh"

#!/usr/bin/env bash
# Takes long. The C++ client: its suite under the sanitizers, the pause test, examples, and projects that use it.
exec "$(dirname "$0")/../client_tests.sh"

#!/usr/bin/env bash
# Builds and runs a stranger's program:  try.sh find_package|find_package_static|pkg_config|add_subdirectory BUILD DIR
# BUILD is a build of this project, DIR a folder to be made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
way=$1 build=$2 dir=$3
mkdir -p "$dir"
[ "$way" = add_subdirectory ] || cmake --install "$build" --prefix "$dir/root"
case $way in
find_package | find_package_static)
  library=gatepost${way#find_package}
  cmake -S "$here/cmake" -B "$dir/build" -DCMAKE_PREFIX_PATH="$dir/root" -DGATEPOST_LIBRARY="$library"
  cmake --build "$dir/build"
  "$dir/build/stranger"
  ;;
pkg_config)
  export PKG_CONFIG_PATH=$dir/root/lib:$dir/root/lib/pkgconfig
  lib=$(find "$dir/root" -name gatepost.pc -printf '%h\n' | head -n 1)
  export PKG_CONFIG_PATH=$lib
  read -ra flags <<<"$(pkg-config --define-variable=prefix="$dir/root" --cflags --libs gatepost)"
  c++ -std=c++20 "$here/main.cpp" "${flags[@]}" -o "$dir/stranger"
  LD_LIBRARY_PATH=${lib%/pkgconfig} "$dir/stranger"
  # What is not public is not to be seen.
  ! nm -DC --defined-only "${lib%/pkgconfig}/libgatepost.so" | grep -E ' [TW] (gatepost::v0::detail|pqxx)::'
  ;;
add_subdirectory)
  cmake -S "$here/subdirectory" -B "$dir/build" -DGATEPOST_SOURCE="$here/../.."
  cmake --build "$dir/build" -j 2
  "$dir/build/stranger"
  ;;
*)
  echo "no such way: $way" >&2
  exit 2
  ;;
esac

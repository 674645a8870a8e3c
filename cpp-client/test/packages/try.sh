#!/usr/bin/env bash
# Builds and runs a stranger's program:  try.sh WAY BUILD DIR
#   WAY    find_package | find_package_static | pkg_config | add_subdirectory | defaults | prefixes | missing
# BUILD is a build of this project, DIR a folder to be made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
doc=$here/../../../docs/cpp-client.md
way=$1 build=$2 dir=$3
mkdir -p "$dir"
# A ! before a command would not end the script.
fails() { if "$@"; then exit 1; fi; }
# Not the prefix that it was built for.
case $way in
find_package* | pkg_config | missing) cmake --install "$build" --prefix "$dir/root" ;;
esac
case $way in
find_package | find_package_static)
  library=gatepost${way#find_package}
  cmake -S "$here/cmake" -B "$dir/build" -DCMAKE_PREFIX_PATH="$dir/root" -DGATEPOST_LIBRARY="$library"
  cmake --build "$dir/build"
  "$dir/build/stranger"
  "$dir/build/stranger_pqxx"
  ;;
pkg_config)
  lib=$(find "$dir/root" -name gatepost.pc -printf '%h\n' | head -n 1)
  export PKG_CONFIG_PATH=$lib
  [ "$(realpath "$(pkg-config --variable=prefix gatepost)")" = "$(realpath "$dir/root")" ]
  # The lines of the document, each with the program that it is for.
  programs=0
  # shellcheck disable=SC2016
  while IFS=$'\t' read -r line header; do
    program=${header:-main}.cpp
    mkdir "$dir/$program"
    cp "$here/$program" "$dir/$program/main.cpp"
    (cd "$dir/$program" && eval "$line")
    LD_LIBRARY_PATH=${lib%/pkgconfig} "$dir/$program/a.out"
    programs=$((programs + 1))
  done < <(sed -nE 's/^\| pkg-config(, with `gatepost\/([a-z]+)\.hpp`)? \| `(.*)` \|$/\3\t\2/p' "$doc")
  [ $programs -eq 3 ]
  # Of an older language that is said, and nothing else.
  for header in "$dir"/root/include/gatepost/*.hpp; do
    echo "#include <gatepost/${header##*/}>" >"$dir/older.cpp"
    fails c++ -std=c++17 -fsyntax-only -I "$dir/root/include" "$dir/older.cpp" 2>"$dir/older.log"
    grep -q 'error.*gatepost needs C++20: compile with -std=c++20' "$dir/older.log"
    [ "$(grep -c 'error: ' "$dir/older.log")" -le 2 ]
  done
  # The same of a libpqxx that is too old.
  mkdir -p "$dir/old/pqxx"
  printf '#define PQXX_VERSION_MAJOR 6\n#define PQXX_VERSION_MINOR 3\n' >"$dir/old/pqxx/pqxx"
  echo '#include <gatepost/pqxx.hpp>' >"$dir/old.cpp"
  fails c++ -std=c++20 -fsyntax-only -I "$dir/old" -I "$dir/root/include" "$dir/old.cpp" 2>"$dir/old.log"
  grep -q 'gatepost/pqxx.hpp needs libpqxx 6.4 or later' "$dir/old.log"
  # One version, in the header, in the package and in the library.
  version=$(sed -nE 's/^#define GATEPOST_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' "$dir/root/include/gatepost/version.hpp" | paste -sd.)
  [ "$(pkg-config --modversion gatepost)" = "$version" ]
  [ -e "${lib%/pkgconfig}/libgatepost.so.$version" ]
  # What is not public is not to be seen.
  ! nm -DC --defined-only "${lib%/pkgconfig}/libgatepost.so" | grep -E ' [TW] (gatepost::v0::detail|pqxx)::'
  ;;
add_subdirectory)
  cmake -S "$here/subdirectory" -B "$dir/build" -DGATEPOST_SOURCE="$here/../.."
  cmake --build "$dir/build" -j 2
  "$dir/build/stranger"
  "$dir/build/stranger_pqxx"
  ;;
defaults)
  # Of the two folders that the documents name, and what is asked for is done.
  for source in "$here/../../.." "$here/../.."; do
    rm -rf "$dir/build"
    cmake -S "$source" -B "$dir/build"
    grep -rqs --include=flags.make -e -O3 "$dir/build"
    fails grep -rs --include=flags.make -e -Werror "$dir/build"
    cmake -S "$source" -B "$dir/build" -DCMAKE_BUILD_TYPE=Debug -DGATEPOST_WERROR=ON
    fails grep -rs --include=flags.make -e -O3 "$dir/build"
    [ "$(grep -rls --include=flags.make -e -Werror "$dir/build" | wc -l)" -eq 2 ]
  done
  ;;
prefixes)
  # By the depth of the library's folder; one that is no part of the prefix stays where it is.
  for libdir in lib lib64/deeper/still /opt/apart; do
    cmake -S "$here/../.." -B "$dir/build" -DCMAKE_INSTALL_PREFIX=/opt/built-for -DCMAKE_INSTALL_LIBDIR="$libdir"
    moved=$dir/moved/$libdir/pkgconfig prefix=$(realpath "$dir")/moved lib=$(realpath "$dir")/moved/$libdir
    [[ $libdir != /* ]] || prefix=/opt/built-for lib=$libdir
    mkdir -p "$moved"
    cp "$dir/build/gatepost.pc" "$moved/"
    of() { realpath -m "$(PKG_CONFIG_PATH=$moved pkg-config --variable="$1" gatepost)"; }
    [ "$(of prefix)" = "$prefix" ]
    [ "$(of libdir)" = "$lib" ]
    [ "$(of includedir)" = "$prefix/include" ]
  done
  ;;
missing)
  # Says which of Debian's packages is missing, and the document's line installs it.
  cat >"$dir/pkg-config" <<'SH'
#!/bin/sh
case " $* " in *" $HIDDEN"[\ \>]*) exit 1 ;; esac
exec pkg-config "$@"
SH
  chmod +x "$dir/pkg-config"
  # unmet PACKAGE SOURCE CMAKE-OPTION...
  unmet() {
    rm -rf "$dir/build"
    fails cmake -S "$2" -B "$dir/build" "${@:3}" >"$dir/said" 2>&1
    grep -qF "is not there (Debian: $1)" "$dir/said" || { cat "$dir/said"; exit 1; }
    grep -qE "^sudo apt install .*\<$1( |\$)" "$doc"
  }
  HIDDEN=libpqxx unmet libpqxx-dev "$here/../.." -DPKG_CONFIG_EXECUTABLE="$dir/pkg-config"
  HIDDEN=libpq unmet libpq-dev "$here/../.." -DPKG_CONFIG_EXECUTABLE="$dir/pkg-config"
  unmet libcli11-dev "$here/../.." -DCMAKE_IGNORE_PATH=/usr/include
  unmet pkg-config "$here/../.." -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
  export CMAKE_PREFIX_PATH=$dir/root
  HIDDEN=libpqxx unmet libpqxx-dev "$here/cmake" -DGATEPOST_LIBRARY=gatepost -DPKG_CONFIG_EXECUTABLE="$dir/pkg-config"
  ;;
*)
  echo "no such way: $way" >&2
  exit 2
  ;;
esac

# find_package(gatepost): gatepost::gatepost, gatepost::gatepost_static, and gatepost::pqxx for <gatepost/pqxx.hpp>.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
# Linked by whoever uses the static library, or <gatepost/pqxx.hpp>.
find_dependency(PkgConfig)
if(NOT TARGET PkgConfig::PQXX)
  pkg_check_modules(PQXX QUIET IMPORTED_TARGET GLOBAL libpqxx>=6.4)
endif()
if(NOT TARGET PkgConfig::PQXX)
  set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "libpqxx>=6.4 is not there (Debian: libpqxx-dev)")
  set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
  return()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/gatepost-targets.cmake)

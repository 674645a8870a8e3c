# find_package(gatepost): gatepost::gatepost and gatepost::gatepost_static.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
# The static library is linked with libpqxx by whoever uses it.
find_dependency(PkgConfig)
if(NOT TARGET PkgConfig::PQXX)
  pkg_check_modules(PQXX QUIET IMPORTED_TARGET GLOBAL libpqxx)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/gatepost-targets.cmake)

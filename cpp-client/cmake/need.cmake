# What the build needs from elsewhere; what is missing is named, with Debian's package.
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is not there (Debian: pkg-config)")
endif()

# gatepost_need(NAME MODULE PACKAGE)    makes the target PkgConfig::NAME
function(gatepost_need name module package)
  pkg_check_modules(${name} IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${module} is not there (Debian: ${package})")
  endif()
endfunction()

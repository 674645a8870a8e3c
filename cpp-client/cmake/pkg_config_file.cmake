# Makes gatepost.pc, which finds the prefix from its own place: cmake --install --prefix may name another.
set(prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(prefix "\${pcfiledir}/${up}")
endif()
# An absolute folder takes the place of what it is appended to.
foreach(dir LIBDIR INCLUDEDIR)
  set(pc_${dir} "\${prefix}")
  cmake_path(APPEND pc_${dir} "${CMAKE_INSTALL_${dir}}")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/gatepost.pc.in gatepost.pc @ONLY)

# Programs that start on systems with an older glibc than this machine's (docs/adr/0029). Sources are compiled as for a release, and
# linked against stubs of the older glibc, which contain names and versions and no code (tools/release/stubs.sh). portability/
# contains replacements for newer functions.
set(AUTOPILOT_PORTABLE "" CACHE STRING "The oldest glibc that the programs start with; empty: that of this machine")
add_subdirectory(portability)
if(AUTOPILOT_PORTABLE)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(stubs $ENV{XDG_CACHE_HOME})
  else()
    set(stubs $ENV{HOME}/.cache)
  endif()
  string(APPEND stubs /autopilot/glibc-${AUTOPILOT_PORTABLE}-${CMAKE_SYSTEM_PROCESSOR})
  if(NOT EXISTS ${stubs}/libc.so)
    message(FATAL_ERROR "${stubs} is not there: tools/release/stubs.sh makes it")
  endif()
  # -B for the start file of every program, -L for libraries; both precede the folders of this machine.
  add_link_options(-B${stubs} -L${stubs})
  link_libraries(autopilot_portability)
endif()

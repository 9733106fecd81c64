# Run at every build: rewrites build_info.cpp only when the commit changed.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE AUTOPILOT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT AUTOPILOT_COMMIT)
  set(AUTOPILOT_COMMIT unknown)
endif()
configure_file(${SOURCE_DIR}/src/logging/build_info.cpp.in ${OUTPUT} @ONLY)

# Precompiled headers (docs/adr/0017): sources mostly include the standard library, and tests mostly GoogleTest. Each of the two is
# compiled once in a build folder.
# The presets gcc-release, arm64 and tidy do not use them, so that a missing #include shows.
option(AUTOPILOT_PRECOMPILED "Precompile the headers of the standard library and of GoogleTest" OFF)

set(standard_headers
  <algorithm> <array> <atomic> <cerrno> <charconv> <chrono> <cmath> <condition_variable> <cstddef> <cstdint> <cstdio>
  <cstdlib> <cstring> <deque> <filesystem> <fstream> <functional> <iostream> <iterator> <limits> <map> <memory> <mutex>
  <optional> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <type_traits> <utility> <variant> <vector>
  <tl/expected.hpp>)

# The tested code is optimised like the release. The tests themselves are not: they then compile in two thirds of the time. They
# have no coverage instrumentation for the fuzzer either, which would take a fifth of the time.
set(autopilot_test_options -O0)
if(AUTOPILOT_FUZZ)
  list(APPEND autopilot_test_options -fno-sanitize=fuzzer-no-link)
endif()

# autopilot_precompile(<target> <options> <headers>...): a target with the header for other targets. All flags that a
# compiler compares equal those of its users: position independence of a library or a program, optimisation, threads.
function(autopilot_precompile target)
  set(source ${CMAKE_BINARY_DIR}/${target}.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_include_directories(${target} SYSTEM PRIVATE ${EXPECTED_INCLUDE_DIR})
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/precompile.sh)
endfunction()

# autopilot_use_precompiled(<target> <from>): the C++ sources of the target are compiled with the header of the other.
function(autopilot_use_precompiled target from)
  if(NOT AUTOPILOT_PRECOMPILED)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
endfunction()

# autopilot_verbs(<target>): its sources are verbs of a command line. CLI11 is compiled into each of them. (Without
# optimisation a verb compiles in a third of the time with sanitizers, and the program of asan outgrows the image.)
function(autopilot_verbs target)
  target_include_directories(${target} SYSTEM PRIVATE ${CLI11_INCLUDE_DIR})
  autopilot_use_precompiled(${target} autopilot_precompiled_verbs)
endfunction()

if(AUTOPILOT_PRECOMPILED)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # ccache 4.7 makes the path relative in this option, and not in CMake's own form, -Xclang -include.
    set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -x c++-header -Wno-pragma-system-header-outside-header)
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
  endif()
  # The same flag for all users of the header, because a compiler refuses a header that was compiled without it.
  set(autopilot_precompiled_options $<$<COMPILE_LANGUAGE:CXX>:-pthread> $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
  add_compile_options(${autopilot_precompiled_options})
  autopilot_precompile(autopilot_precompiled ${standard_headers})
  autopilot_precompile(autopilot_precompiled_verbs ${standard_headers} <CLI/CLI.hpp>)
  target_include_directories(autopilot_precompiled_verbs SYSTEM PRIVATE ${CLI11_INCLUDE_DIR})
  if(AUTOPILOT_TESTS)
    autopilot_precompile(autopilot_precompiled_tests ${standard_headers} <gmock/gmock.h> <gtest/gtest.h>)
    target_compile_options(autopilot_precompiled_tests PRIVATE ${autopilot_test_options})
    target_link_libraries(autopilot_precompiled_tests PRIVATE GTest::gmock GTest::gtest)
  endif()
endif()

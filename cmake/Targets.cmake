# One folder of src/ is one library. Sources are every .cpp of the folder; x_test.cpp beside x.cpp belongs to the
# folder's test program autopilot_<name>_tests.
#   autopilot_library(<name> [PUBLIC <targets>...] [PRIVATE <targets>...] [SIMULATION <files>...])
# SIMULATION: tests that compute for a long time, in a separate program, autopilot_<name>_simulation_tests, with a separate label: make
# test runs them in the release. In one program with tests that are not optimised, they would use the templates of these tests, at a
# third of the speed.
function(autopilot_library name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE;SIMULATION" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
  if(sources)
    autopilot_unite(sources autopilot_${name} ${sources})
    add_library(autopilot_${name} STATIC ${sources})
    target_include_directories(autopilot_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(autopilot_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
    autopilot_use_precompiled(autopilot_${name} autopilot_precompiled)
  else()
    add_library(autopilot_${name} INTERFACE)
    target_include_directories(autopilot_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(autopilot_${name} INTERFACE ${ARG_PUBLIC} ${ARG_PRIVATE})
  endif()
  if(AUTOPILOT_TESTS AND ARG_SIMULATION)
    autopilot_hot_tests(${ARG_SIMULATION})
    autopilot_test(${name}_simulation SOURCES ${ARG_SIMULATION} LINK autopilot_${name} ${ARG_PRIVATE}
                   LABELS simulation)
    set_tests_properties(${name}_simulation PROPERTIES TIMEOUT 900)
    list(TRANSFORM ARG_SIMULATION PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(REMOVE_ITEM tests ${ARG_SIMULATION})
  endif()
  if(AUTOPILOT_TESTS AND tests)
    autopilot_test(${name} SOURCES ${tests} LINK autopilot_${name} ${ARG_PRIVATE})
  endif()
endfunction()

# autopilot_hot(<files>...): sources of the folder that are optimised for speed instead of size (Warnings.cmake): the
# code for storms of kernel records, scrapes and answers. Call it before autopilot_library.
function(autopilot_hot)
  set(sources ${ARGN})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# autopilot_hot_tests(<files>...): tests of the folder that run long enough to be worth optimising: simulations.
function(autopilot_hot_tests)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O2 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Tests that start programs mostly wait for them, so CI runs two on each processor (ctest -j). A test that computes all the time
# takes two slots.
set(AUTOPILOT_PLACES_OF_WORK 2)

# autopilot_test(<name> SOURCES <files>... LINK <targets>...): a GoogleTest program, one ctest entry per test.
function(autopilot_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LABELS" ${ARGN})
  set(target autopilot_${name}_tests)
  autopilot_unite(sources ${target} ${ARG_SOURCES})
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  target_link_libraries(${target} PRIVATE ${ARG_LINK} autopilot_test_paths GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${autopilot_test_options})
  autopilot_use_precompiled(${target} autopilot_precompiled_tests)
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_test(NAME ${name} COMMAND ${target})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests ${target})
  else()
    add_dependencies(integration_tests ${target})
  endif()
  if(NOT "integration" IN_LIST ARG_LABELS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${AUTOPILOT_PLACES_OF_WORK})
  endif()
endfunction()

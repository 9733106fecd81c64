# Warnings are errors from the first day; sanitizers and the linker are chosen here for every target.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align
                    -Woverloaded-virtual -Wconversion -Wsign-conversion -Wnull-dereference -Werror
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -fno-omit-frame-pointer)
# ccache rewrites the paths of the clone to relative ones, so that another clone hits the same cache.
file(RELATIVE_PATH to_source ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
string(REGEX REPLACE "/$" "" to_source "${to_source}")
add_compile_options(-ffile-prefix-map=${to_source}=.)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # yaml-cpp and the standard library of g++ 12 trip these in their own headers.
  add_compile_options(-Wno-gnu-statement-expression -Wno-gnu-zero-variadic-macro-arguments)
else()
  # g++ 12 reports false positives of these through optimised library code.
  add_compile_options(-Wno-null-dereference -Wno-maybe-uninitialized -Wno-restrict)
  # g++ also warns about designated initializers that deliberately omit members; clang does not.
  add_compile_options(-Wno-missing-field-initializers)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-ffunction-sections -fdata-sections)
  # Nearly all released code runs a few times a minute, and each page that has ever run takes memory of the node.
  # Hot sources are marked: autopilot_hot.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options(-Oz)
  endif()
  add_link_options(-Wl,--gc-sections)
endif()

foreach(kind IN LISTS AUTOPILOT_SANITIZE)
  add_compile_options(-fsanitize=${kind})
  add_link_options(-fsanitize=${kind})
endforeach()
if("undefined" IN_LIST AUTOPILOT_SANITIZE)
  add_compile_options(-fno-sanitize-recover=all)
endif()
if(AUTOPILOT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# g++ accepts only linkers that it finds by name in PATH, and Debian's lld-16 has another name.
find_program(AUTOPILOT_LLD NAMES ld.lld-16 ld.lld)
if(AUTOPILOT_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(--ld-path=${AUTOPILOT_LLD})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Merges functions with the same instructions if no code compares their addresses.
    add_link_options(-Wl,--icf=safe)
  endif()
  # Relocations of one bit instead of 24 bytes. glibc supports them since 2.36.
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_LINK_OPTIONS --ld-path=${AUTOPILOT_LLD} -pie -Wl,-z,pack-relative-relocs)
  check_cxx_source_runs("int a; int* volatile place = &a; int main() { return place != &a; }"
                        AUTOPILOT_HAS_RELR)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(AUTOPILOT_HAS_RELR)
    add_link_options(-Wl,-z,pack-relative-relocs)
  endif()
endif()

# The CMake package of mqcore: what a driver needs to be built outside of mqcore's tree.
#
#   find_package(mqcore 1.0 CONFIG REQUIRED)
#   mqcore_add_driver(my-driver SOURCES my_driver.c LINK_LIBRARIES my_library)
#
# Its version is that of the driver ABI (driver.h), not that of the program: a driver built for 1.0 loads
# in every mqcore of ABI 1. It serves an installation and a build tree alike, which lie alike.
#
#   mqcore::driver      the headers driver.h and driver.hpp; nothing to link
#   mqcore::mqcore      the program, where it is beside them, for tests of your own
#   mqcore_SDK_FOLDER   the Rust crate (rust) and the Go package (go)
cmake_minimum_required(VERSION 3.17...3.25)

get_filename_component(mqcore_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(mqcore_SDK_FOLDER "${mqcore_prefix}/share/mqcore/sdk")

if(NOT TARGET mqcore::driver)
  add_library(mqcore::driver INTERFACE IMPORTED)
  set_target_properties(mqcore::driver PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${mqcore_prefix}/include")
endif()
if(NOT TARGET mqcore::mqcore AND EXISTS "${mqcore_prefix}/bin/mqcore")
  add_executable(mqcore::mqcore IMPORTED)
  set_target_properties(mqcore::mqcore PROPERTIES IMPORTED_LOCATION "${mqcore_prefix}/bin/mqcore")
endif()
unset(mqcore_prefix)

include("${mqcore_SDK_FOLDER}/cmake/mqcore_add_driver.cmake")

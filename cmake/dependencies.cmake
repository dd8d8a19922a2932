# Everything mqcore takes from the system, in one place.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# No path of the building machine gets into a binary.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

find_program(MQCORE_CCACHE ccache)
if(MQCORE_CCACHE)
  # What one checkout compiled serves all others.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${MQCORE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Boost.JSON is in Boost since 1.75; Debian 12 has 1.81 beside the older default.
find_package(Boost 1.75 REQUIRED COMPONENTS json)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
find_package(CLI11 REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)

add_library(mqcore_tomlplusplus INTERFACE)
target_include_directories(mqcore_tomlplusplus SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})
target_compile_definitions(mqcore_tomlplusplus INTERFACE TOML_HEADER_ONLY=1 TOML_EXCEPTIONS=0)

add_library(mqcore_asio INTERFACE)
target_include_directories(mqcore_asio SYSTEM INTERFACE ${ASIO_INCLUDE_DIR})
target_compile_definitions(mqcore_asio INTERFACE ASIO_STANDALONE=1 ASIO_NO_DEPRECATED=1)
target_link_libraries(mqcore_asio INTERFACE Threads::Threads)

add_library(mqcore_warnings INTERFACE)
# Designated initialisers name what differs from the defaults on purpose.
target_compile_options(mqcore_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wno-missing-field-initializers)
# GCC 12 warns falsely about std::string (GCC bug 105651).
target_compile_options(mqcore_warnings INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
option(MQCORE_WARNINGS_ARE_ERRORS "Fail on warnings" OFF)
if(MQCORE_WARNINGS_ARE_ERRORS)
  target_compile_options(mqcore_warnings INTERFACE -Werror)
endif()

# mqcore_add_driver(ID SOURCES file... [LINK_LIBRARIES target...] [DESCRIPTOR driver.toml]
#                   [LIBRARY_VERSION version])
#
# The target ID-driver, and by it a driver's folder: ID/ID.so beside its driver.toml, in the current binary
# directory or in MQCORE_PLUGIN_OUTPUT where that is set. `mqcore check-driver build/ID` takes the folder,
# MQCORE_PLUGIN_PATH=build all that are in it.
#
# Nothing but mqcore_driver_entry is exported, whatever is linked into it. DESCRIPTOR is the folder's
# driver.toml unless said otherwise; @driver_LIBRARY_VERSION@ in it stands for LIBRARY_VERSION.
# Installing puts the folder under lib/mqcore/plugins.
function(mqcore_add_driver id)
  cmake_parse_arguments(PARSE_ARGV 1 driver "" "DESCRIPTOR;LIBRARY_VERSION" "SOURCES;LINK_LIBRARIES")
  if(driver_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "mqcore_add_driver(${id}): unknown argument: ${driver_UNPARSED_ARGUMENTS}; "
      "it takes SOURCES, LINK_LIBRARIES, DESCRIPTOR and LIBRARY_VERSION")
  endif()
  if(NOT id MATCHES "^[a-z0-9-]+$")
    message(FATAL_ERROR "mqcore_add_driver(${id}): an id has letters a-z, digits and '-'")
  endif()
  if(NOT driver_SOURCES)
    message(FATAL_ERROR "mqcore_add_driver(${id}): SOURCES is missing")
  endif()
  if(NOT driver_DESCRIPTOR)
    set(driver_DESCRIPTOR driver.toml)
  endif()
  get_filename_component(descriptor "${driver_DESCRIPTOR}" ABSOLUTE)
  if(NOT EXISTS "${descriptor}")
    message(FATAL_ERROR "mqcore_add_driver(${id}): there is no ${descriptor}; a driver needs one, DESCRIPTOR "
      "says where")
  endif()
  if(MQCORE_PLUGIN_OUTPUT)
    set(folder "${MQCORE_PLUGIN_OUTPUT}/${id}")
  else()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${id}")
  endif()
  set(exports "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../export.map")

  add_library(${id}-driver MODULE ${driver_SOURCES})
  target_link_libraries(${id}-driver PRIVATE mqcore::driver ${driver_LINK_LIBRARIES})
  # $<1:...> keeps generators of several configurations from a folder for each.
  set_target_properties(${id}-driver PROPERTIES PREFIX "" SUFFIX .so OUTPUT_NAME ${id} DEBUG_POSTFIX ""
    LIBRARY_OUTPUT_DIRECTORY "$<1:${folder}>" LINK_DEPENDS "${exports}"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(${id}-driver PRIVATE "LINKER:--version-script=${exports}")
  configure_file("${descriptor}" "${folder}/driver.toml" @ONLY)
  install(TARGETS ${id}-driver LIBRARY DESTINATION lib/mqcore/plugins/${id})
  install(FILES "${folder}/driver.toml" DESTINATION lib/mqcore/plugins/${id})
endfunction()

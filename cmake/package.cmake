# `cpack -G DEB` makes a Debian package of the installed tree.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mqcore)
set(CPACK_PACKAGE_VENDOR "mqcore contributors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

# Who builds a package answers for it, as Debian's own tools have it.
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "mqcore contributors <mqcore@packages.invalid>")
if(DEFINED ENV{DEBEMAIL})
  set(name "$ENV{DEBFULLNAME}")
  if(NOT name)
    set(name "mqcore contributors")
  endif()
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${name} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmark of MQTT client libraries")
set(CPACK_PACKAGE_DESCRIPTION "mqcore measures what MQTT client libraries in C, C++, Rust, Go and Python
cost and deliver against a local Mosquitto of its own, and reports only what
a party that shares no code with the client can confirm.

It brings the drivers of several libraries, what is needed to build a driver
of one's own, and scenarios. Python clients are installed for each user by
'mqcore envs sync'.")
# What programs and drivers link is found by dpkg-shlibdeps; the broker is started as a program.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "mosquitto (>= 2.0)")
# For Python clients: their environments, and the shared libpython of whatever Python is Debian's.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3 (>= 3.11), python3-venv, libpython3-dev")
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian/finish.cmake)

include(CPack)

# Run by cpack between installing into its folder and packing that: what Debian's policy asks of a package.
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
set(pages ${share}/doc/mqcore)
configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${pages}/copyright COPYONLY)
file(REMOVE ${pages}/LICENSE)
file(CREATE_LINK copyright ${pages}/LICENSE SYMBOLIC) # it has the same text, and the README names it
file(COPY ${CMAKE_CURRENT_LIST_DIR}/lintian-overrides DESTINATION ${share}/lintian/overrides)
file(RENAME ${share}/lintian/overrides/lintian-overrides ${share}/lintian/overrides/mqcore)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
file(WRITE ${pages}/changelog "mqcore (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from mqcore ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
file(GLOB manuals ${share}/man/man1/*.1)
execute_process(COMMAND gzip -9n ${pages}/changelog ${manuals} COMMAND_ERROR_IS_FATAL ANY)

# Whatever the builder's umask is.
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
file(CHMOD_RECURSE ${CPACK_TEMPORARY_INSTALL_DIRECTORY} DIRECTORY_PERMISSIONS
  ${readable} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
file(CHMOD_RECURSE ${pages} ${share}/man ${share}/lintian FILE_PERMISSIONS ${readable})

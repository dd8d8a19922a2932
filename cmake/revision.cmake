# cmake -DSOURCE=project -DTEMPLATE=revision.cpp.in -DOUTPUT=revision.cpp -P revision.cmake: writes the git
# revision of the sources into a copy of the template, and touches it only when the revision is another.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-toplevel
  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(revision)
file(REAL_PATH ${SOURCE} source)
if(top STREQUAL source) # else the sources only lie inside somebody else's checkout
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT revision)
  set(revision unknown)
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)

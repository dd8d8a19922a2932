# MQCORE_SANITIZE=address,undefined or thread: one flag for every target of the build.
set(MQCORE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
if(MQCORE_SANITIZE)
  add_compile_options(-fsanitize=${MQCORE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MQCORE_SANITIZE})
endif()

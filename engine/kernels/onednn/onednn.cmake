# Finds oneDNN with the THREADPOOL runtime: -DDNNL_DIR=… if given, else the per-machine cache (provide.sh). What is not in the
# cache yet is built beside our own sources: they need its headers only, and what links it waits. Defines the target DNNL::dnnl
# and the variable dnnl_VERSION.
if(DNNL_DIR)
  find_package(dnnl 3.0 CONFIG REQUIRED PATHS "${DNNL_DIR}" NO_DEFAULT_PATH)
  if(NOT DNNL_CPU_RUNTIME STREQUAL "THREADPOOL")
    message(FATAL_ERROR "oneDNN in ${DNNL_DIR} has the runtime ${DNNL_CPU_RUNTIME}; THREADPOOL is needed: the threads of an "
                        "OpenMP or TBB build can't be resized while a primitive runs (leave DNNL_DIR out to build one)")
  endif()
  message(STATUS "oneDNN ${dnnl_VERSION} (${DNNL_CPU_RUNTIME}) in ${DNNL_DIR}")
  return()
endif()

set(provide "${CMAKE_CURRENT_LIST_DIR}/provide.sh")
if(CMAKE_CROSSCOMPILING)
  list(APPEND provide --toolchain "${CMAKE_TOOLCHAIN_FILE}")
endif()
execute_process(COMMAND bash ${provide} --headers
                OUTPUT_VARIABLE onednn OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "oneDNN could not be provided; the lines above say why and what to do")
endif()
foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${onednn}/include/oneapi/dnnl/dnnl_version.h" line REGEX "define DNNL_VERSION_${part} ")
  string(REGEX REPLACE ".* " "" ${part} "${line}")
endforeach()
set(dnnl_VERSION "${MAJOR}.${MINOR}.${PATCH}")

set(library "${onednn}/lib/libdnnl.a")
add_custom_command(OUTPUT "${library}" COMMAND bash ${provide} COMMENT "oneDNN ${dnnl_VERSION}, once per machine" VERBATIM)
add_custom_target(onednn DEPENDS "${library}")
add_library(DNNL::dnnl STATIC IMPORTED GLOBAL)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${library}" INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}"
                      INTERFACE_INCLUDE_DIRECTORIES "${onednn}/include")
message(STATUS "oneDNN ${dnnl_VERSION} in ${onednn}")

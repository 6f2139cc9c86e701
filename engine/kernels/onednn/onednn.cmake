# Finds oneDNN with the THREADPOOL runtime: -DDNNL_DIR=… if given, else the per-machine cache, building it there first
# (provide.sh). Defines the target DNNL::dnnl.
if(NOT DNNL_DIR)
  execute_process(COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/provide.sh"
                  OUTPUT_VARIABLE DNNL_DIR OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "oneDNN could not be provided; the lines above say why and what to do")
  endif()
endif()
find_package(dnnl 3.0 CONFIG REQUIRED PATHS "${DNNL_DIR}" NO_DEFAULT_PATH)
if(NOT DNNL_CPU_RUNTIME STREQUAL "THREADPOOL")
  message(FATAL_ERROR "oneDNN in ${DNNL_DIR} has the runtime ${DNNL_CPU_RUNTIME}; THREADPOOL is needed: the threads of an "
                      "OpenMP or TBB build can't be resized while a primitive runs (leave DNNL_DIR out to build one)")
endif()
message(STATUS "oneDNN ${dnnl_VERSION} (${DNNL_CPU_RUNTIME}) in ${DNNL_DIR}")

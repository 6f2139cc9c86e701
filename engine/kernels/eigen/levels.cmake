# Compiles the kernels of this folder for each level of x86-64 (levels.h) and gives `levels` the objects, what each level's
# contributes to the library. All levels have the same templates and inline functions, Eigen's, the standard library's and ours,
# and a linker keeps one of each, for the whole program: of the wrong level it would end with SIGILL on an older CPU. So each
# level is linked into one object by itself, in which every name is local but that of its table of kernels.
set(own_folder "${CMAKE_CURRENT_LIST_DIR}")
file(GLOB levelled CONFIGURE_DEPENDS "${own_folder}/*.cc")
set(once "${own_folder}/copies.cc" "${own_folder}/device.cc")
list(REMOVE_ITEM levelled ${once} "${own_folder}/dispatch.cc" "${own_folder}/one_level.cc")

function(cosched_level level)
  set(target cosched_eigen_v${level})
  add_library(${target} OBJECT ${levelled})
  target_link_libraries(${target} PRIVATE Eigen3::Eigen)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE COSCHED_LEVEL=kLevel${level} COSCHED_LEVEL_NAME="x86-64-v${level}")
  # Unique symbols stay global whatever objcopy is told. gcc 12 takes its own AVX-512 intrinsics for uninitialised.
  target_compile_options(${target} PRIVATE -march=x86-64-v${level} $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique;-Wno-maybe-uninitialized>)
  if(COSCHED_PRECOMPILE)  # Two thirds of the time of an average file.
    target_precompile_headers(${target} PRIVATE <algorithm> <chrono> <cmath> <map> <memory> <string> <vector> <Eigen/Core>
                              <unsupported/Eigen/SpecialFunctions>)
  endif()
  set(objects "$<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,[.]gch$>")  # CMake counts precompiled headers among them.
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${target}.o")
  add_custom_command(OUTPUT "${object}"
    COMMAND "${CMAKE_LINKER}" -r --force-group-allocation -T "${own_folder}/level.ld" -o "${object}.linked" ${objects}
    COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbol=_ZN7cosched5eigen7kLevel${level}E
            --rename-section .text=cosched_eigen_v${level} "${object}.linked" "${object}"
    COMMAND "${CMAKE_COMMAND}" -E rm "${object}.linked"
    DEPENDS ${objects} "${own_folder}/level.ld" COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Kernels for x86-64-v${level} in one object")
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(levels ${levels} "${object}" PARENT_SCOPE)
endfunction()

set(several OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT COSCHED_SANITIZE)
  set(several ON)
endif()
set(COSCHED_SEVERAL_LEVELS ${several} CACHE INTERNAL "Whether the binary has kernels for several levels of x86-64")
if(several)
  set(levels ${once} "${own_folder}/dispatch.cc")
  foreach(level 2 3 4)
    cosched_level(${level})
  endforeach()
else()
  # Sanitizers' objects have code that runs when the program starts, and are for the machine that made them.
  set(levels ${once} ${levelled} "${own_folder}/one_level.cc")
  set_source_files_properties("${own_folder}/level.cc" PROPERTIES
    COMPILE_DEFINITIONS "COSCHED_LEVEL=kOneLevel;COSCHED_LEVEL_NAME=\"${CMAKE_SYSTEM_PROCESSOR}\"")
endif()

# How oneDNN's own CMake project is built for us; injected into it by provide.sh (CMAKE_PROJECT_TOP_LEVEL_INCLUDES), so that
# no file of oneDNN changes for it. Its objects spend most of their time in the same headers: these are compiled once. Files
# that run once per primitive (they choose an implementation, or generate its code) are not optimized: what they generate is
# the same.
cmake_language(DEFER CALL build_lean)

# Moves the sources of a target that match to the list `moved`.
macro(move_sources target pattern moved)
  get_target_property(all ${target} SOURCES)
  set(chosen ${all})
  list(FILTER chosen INCLUDE REGEX "${pattern}")
  list(FILTER all EXCLUDE REGEX "${pattern}")
  set_property(TARGET ${target} PROPERTY SOURCES ${all})
  list(APPEND ${moved} ${chosen})
endmacro()

function(build_lean)
  set(source "${CMAKE_SOURCE_DIR}/src")
  set(once)
  move_sources(dnnl_cpu "_lists?\\.cpp$" once)
  move_sources(dnnl_cpu_x64 "(_kern(el)?(_[a-z0-9]+)*|_kernel_utils|/jit_generator|_injector|/injector_utils|jit_io_helper|_copy_utils|_transpose_utils|_post_ops|_amx_uker|cvt[a-z0-9]*|_convert_xf16)\\.cpp$" once)
  add_library(dnnl_unoptimized OBJECT ${once})
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS POSITION_INDEPENDENT_CODE)
    get_target_property(value dnnl_cpu_x64 ${property})
    if(value)
      set_property(TARGET dnnl_unoptimized PROPERTY ${property} "${value}")
    endif()
  endforeach()
  separate_arguments(flags UNIX_COMMAND "${CMAKE_SRC_CCXX_FLAGS} ${CMAKE_CCXX_NOWARN_FLAGS}")
  target_compile_options(dnnl_unoptimized PRIVATE ${flags} -O0 -U_FORTIFY_SOURCE)
  target_sources(dnnl PRIVATE $<TARGET_OBJECTS:dnnl_unoptimized>)

  set(x64 cpu/x64/jit_generator.hpp cpu/x64/jit_primitive_conf.hpp cpu/x64/injectors/jit_uni_postops_injector.hpp
    cpu/x64/brgemm/brgemm.hpp cpu/cpu_convolution_pd.hpp cpu/cpu_primitive.hpp)
  foreach(target dnnl_unoptimized dnnl_cpu_x64)
    precompile(${target} ${x64})
  endforeach()
  precompile(dnnl_cpu cpu/cpu_engine.hpp cpu/cpu_primitive.hpp cpu/primitive_attr_postops.hpp common/dnnl_thread.hpp)
  precompile(dnnl_common common/primitive.hpp common/engine.hpp common/dnnl_thread.hpp)
endfunction()

function(precompile target)
  list(TRANSFORM ARGN PREPEND "${CMAKE_SOURCE_DIR}/src/")
  list(JOIN ARGN ";" headers)
  target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${headers}>")
endfunction()

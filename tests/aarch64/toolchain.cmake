# Compiles for aarch64 on another Debian machine, against the root of root.sh; what is built runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# This file is read anew for each of CMake's trial programs, in processes that have this one's environment.
if(NOT DEFINED ENV{COSCHED_AARCH64_ROOT})
  execute_process(COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/root.sh" OUTPUT_VARIABLE made OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the aarch64 root could not be made; the lines above say why")
  endif()
  string(REPLACE "\n" ";" made "${made}")
  list(GET made 0 root)
  list(GET made 1 preloaded)
  set(ENV{COSCHED_AARCH64_ROOT} "${root}")
  set(ENV{COSCHED_AARCH64_PRELOADED} "${preloaded}")
endif()
set(CMAKE_SYSROOT "$ENV{COSCHED_AARCH64_ROOT}")
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# pkg-config searches the root alone.
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${CMAKE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig")

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L "${CMAKE_SYSROOT}" -E "LD_PRELOAD=$ENV{COSCHED_AARCH64_PRELOADED}")

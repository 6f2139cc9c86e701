# What `cmake --install` puts where, and what `cpack` makes a package of. All of it is found relative to the binary, so that a
# prefix can be moved: BIN/../share/cosched has the files of the tree that commands read, in the tree's own folders
# (FindTreeFile, experiments/launch/plots.h), BIN/../lib/cosched what is preloaded (ChooseClientLibrary, experiments/wire).
include(GNUInstallDirs)
set(tree "${CMAKE_INSTALL_DATADIR}/cosched")

install(TARGETS cosched RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
# The second is what programs are linked with, by -Wl,-rpath: none of them runs without cosched.
install(TARGETS cosched_openmp cosched_client LIBRARY DESTINATION lib/cosched)

# Experiments, figures, plots, and the checker of records.
file(GLOB files RELATIVE "${PROJECT_SOURCE_DIR}" experiments/*.toml experiments/client/*.py experiments/client/*.js plots/*.py
     plots/*.png tests/check_*.py tests/*_laws.py)
# It draws what experiments/peers measures, which needs the source tree.
list(REMOVE_ITEM files plots/peers.py tests/check_results.py)  # The second is a program: below.
list(APPEND files README.md engine/README.md experiments/README.md plots/README.md policies/README.md tests/README.md
     tests/bench/README.md traces/FORMAT.md engine/graph/ops.md)
foreach(file IN LISTS files)
  cmake_path(GET file PARENT_PATH folder)
  install(FILES "${file}" DESTINATION "${tree}/${folder}")
endforeach()
install(DIRECTORY experiments/examples experiments/profiles experiments/schemas experiments/figures DESTINATION "${tree}/experiments"
        USE_SOURCE_PERMISSIONS PATTERN CMakeLists.txt EXCLUDE PATTERN inputs EXCLUDE PATTERN __pycache__ EXCLUDE)
install(PROGRAMS tests/check_results.py DESTINATION "${tree}/tests")
install(DIRECTORY plots/expected DESTINATION "${tree}/plots")

# For policies in shared libraries and programs that follow their grant: -I PREFIX/include/cosched stands for the tree.
set(headers "${CMAKE_INSTALL_INCLUDEDIR}/cosched")
foreach(folder policies engine/base)
  file(GLOB files RELATIVE "${PROJECT_SOURCE_DIR}" ${folder}/*.h)
  install(FILES ${files} DESTINATION "${headers}/${folder}")
endforeach()
install(FILES experiments/client/cosched_client.h experiments/client/cosched_page.h
        DESTINATION "${headers}/experiments/client")
install(FILES experiments/setup/copyright CITATION.cff DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Manual pages and completions are the binary's own words.
if(CMAKE_CROSSCOMPILING)
  message(STATUS "no manual pages and completions are installed: this machine can't run what it compiles")
else()
  install(CODE "set(cosched \"$<TARGET_FILE:cosched>\")")
  install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/manuals.cmake")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cosched)
set(CPACK_PACKAGE_CONTACT "The cosched authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compares co-scheduling policies on malleable CNN programs")
set(CPACK_PACKAGE_DESCRIPTION "A research simulator and benchmark harness: several CNN programs share
one machine, and a policy decides who runs on how many cores, while their
thread pools grow and shrink in the middle of a step.
`cosched run quickstart` shows it.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/package")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Plots are drawn where they are; without them a run ends with its table.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, python3-matplotlib, python3-pandas")
# backend = "container"; programs that are compiled at their first run; pipelines of several ranks.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "podman, runc, g++, openmpi-bin")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/prerm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)

# Compiles through ccache where it is installed, so that another checkout finds what this one compiled: paths below the
# checkout are relative in commands, debug information and messages. A launcher chosen by the caller wins.
find_program(POLYPATH_CCACHE ccache)
if(POLYPATH_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the sloppiness ccache gives up on precompiled headers.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${POLYPATH_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

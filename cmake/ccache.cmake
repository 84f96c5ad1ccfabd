# Compile through ccache where it is installed; a launcher chosen by the caller wins.
find_program(POLYPATH_CCACHE ccache)
if(POLYPATH_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this sloppiness ccache gives up on precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${POLYPATH_CCACHE})
endif()

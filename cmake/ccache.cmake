# Compile through ccache where it is installed; a launcher chosen by the caller wins.
find_program(POLYPATH_CCACHE ccache)
if(POLYPATH_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${POLYPATH_CCACHE})
endif()

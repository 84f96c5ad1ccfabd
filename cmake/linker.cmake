# mold where it is installed and the compiler knows it: programs are linked in tenths of a second.
include(CheckLinkerFlag)
find_program(POLYPATH_MOLD mold)
if(POLYPATH_MOLD)
  check_linker_flag(CXX -fuse-ld=mold POLYPATH_LINKS_WITH_MOLD)
  if(POLYPATH_LINKS_WITH_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

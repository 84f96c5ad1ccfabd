# How this project's C++ is compiled. What nearly every file includes is parsed once, and files of a folder are
# compiled several at once, so names in their unnamed namespaces differ. Each still includes what it uses:
# scripts/lint compiles it alone.
set(POLYPATH_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
file(WRITE ${PROJECT_BINARY_DIR}/headers.cc "")
add_library(polypath_headers OBJECT ${PROJECT_BINARY_DIR}/headers.cc)
target_compile_options(polypath_headers PRIVATE ${POLYPATH_WARNINGS})
target_link_libraries(polypath_headers PRIVATE polypath_fmt)
target_precompile_headers(polypath_headers PRIVATE
  <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <deque> <functional>
  <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <thread> <tuple>
  <utility> <variant> <vector> <fmt/format.h>)

# polypath_batches(RESULT NAME SOURCE...): files that include sixteen of the sources each, called NAME_1.cc and so on.
# Eight take 1.15 times as long to compile in all.
# CMake's own unity files name sources by absolute paths, so that no other checkout could use what was compiled here.
function(polypath_batches result name)
  set(${result} ${ARGN} PARENT_SCOPE)
  if(NOT POLYPATH_UNITY_BUILD)
    return()
  endif()
  set(batches "")
  set(text "")
  set(number 0)
  set(sources ${ARGN})
  list(SORT sources)
  while(sources)
    list(SUBLIST sources 0 16 batch)
    list(REMOVE_ITEM sources ${batch})
    math(EXPR number "${number} + 1")
    set(text "")
    foreach(source IN LISTS batch)
      get_filename_component(source ${source} ABSOLUTE)
      file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    set(file ${PROJECT_BINARY_DIR}/batches/${name}_${number}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}")  # written only if it changes
    list(APPEND batches ${file})
  endwhile()
  set(${result} ${batches} PARENT_SCOPE)
endfunction()

# polypath_compiled(TARGET): compiles a library's sources so.
function(polypath_compiled target)
  target_compile_options(${target} PRIVATE ${POLYPATH_WARNINGS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})  # batches name their sources so
  target_link_libraries(${target} PRIVATE polypath_fmt)
  target_precompile_headers(${target} REUSE_FROM polypath_headers)
endfunction()

# polypath_layer(NAME [USES LAYER...]): the static library polypath_NAME of all sources below
# src/NAME, with src/ as the include folder, built where something needs it. CONFIGURE_DEPENDS: a new
# file needs no edit here.
function(polypath_layer name)
  cmake_parse_arguments(LAYER "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(NOT POLYPATH_WITH_CUDA)
    list(FILTER sources EXCLUDE REGEX "/src/driver/cuda/")
  endif()
  polypath_batches(sources ${name} ${sources})
  add_library(polypath_${name} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(polypath_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  polypath_compiled(polypath_${name})
  target_link_libraries(polypath_${name} PUBLIC Threads::Threads PRIVATE nlohmann_json::nlohmann_json)
  foreach(layer IN LISTS LAYER_USES)
    target_link_libraries(polypath_${name} PUBLIC polypath_${layer})
  endforeach()
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${name}/CMakeLists.txt)
    add_subdirectory(src/${name})
  endif()
endfunction()

# polypath_checks_alignment(LAYER...): the undefined-behaviour sanitizer looks at alignment in these layers.
function(polypath_checks_alignment)
  if(POLYPATH_SANITIZE MATCHES undefined)
    foreach(layer IN LISTS ARGN)
      target_compile_options(polypath_${layer} PRIVATE -fsanitize=alignment)
    endforeach()
  endif()
endfunction()

# polypath_generated(LAYER SOURCE): adds a C++ file that a rule of src/LAYER's CMakeLists.txt writes. The
# library belongs to the parent folder, which does not see this folder's rules: hence the target in
# between.
function(polypath_generated layer source)
  get_filename_component(name ${source} NAME_WE)
  add_custom_target(polypath_${name} DEPENDS ${source})
  add_dependencies(polypath_${layer} polypath_${name})
  set_source_files_properties(${source} TARGET_DIRECTORY polypath_${layer} PROPERTIES GENERATED TRUE)
  target_sources(polypath_${layer} PRIVATE ${source})
endfunction()

# polypath_uses(FOLDER USES LAYER...): what the code in src/FOLDER, which CMakeLists.txt there
# builds, may use. It links polypath_FOLDER_layers, with "_" for "/".
function(polypath_uses folder)
  cmake_parse_arguments(LAYER "" "" "USES" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  add_library(polypath_${name}_layers INTERFACE)
  foreach(layer IN LISTS LAYER_USES)
    target_link_libraries(polypath_${name}_layers INTERFACE polypath_${layer})
  endforeach()
endfunction()

# Everything the C++ side uses: the system's package where there is one, else fetched.
# docs/dependencies.md says why each is here.
include(FetchContent)
find_package(Threads REQUIRED)

# Fetched sources are built for us alone: not installed, not tested.
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # their options take these values
set(INSTALL_GTEST OFF)
set(BENCHMARK_ENABLE_INSTALL OFF)
set(BENCHMARK_ENABLE_TESTING OFF)

macro(polypath_dependency name repository tag)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    message(STATUS "Polypath fetches ${name} ${tag} from ${repository}: no package of it is installed")
    FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW TRUE)
    FetchContent_MakeAvailable(${name})
  endif()
endmacro()

polypath_dependency(fmt https://github.com/fmtlib/fmt 9.1.0)
set(SPDLOG_FMT_EXTERNAL_HO ON)  # with the fmt above, header-only
polypath_dependency(spdlog https://github.com/gabime/spdlog v1.10.0)
polypath_dependency(nlohmann_json https://github.com/nlohmann/json v3.11.2)
if(POLYPATH_BUILD_TESTS)
  polypath_dependency(GTest https://github.com/google/googletest release-1.12.1)
endif()
if(POLYPATH_BUILD_BENCHMARKS)
  polypath_dependency(benchmark https://github.com/google/benchmark v1.7.1)
endif()

# fmt's functions are compiled once: header-only they would be compiled into every file, which takes three times as
# long, and the system's library would have to be on every computer. Other versions than 9 are used header-only.
if(fmt_VERSION MATCHES "^9\\.")
  add_library(polypath_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cc)
  target_include_directories(polypath_fmt SYSTEM PUBLIC
                             $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(polypath_fmt PUBLIC FMT_SHARED)  # its functions are in a library
  target_link_options(polypath_fmt INTERFACE -Wl,--exclude-libs,libpolypath_fmt.a)  # of which no program knows
else()
  add_library(polypath_fmt INTERFACE)
  target_link_libraries(polypath_fmt INTERFACE fmt::fmt-header-only)
endif()

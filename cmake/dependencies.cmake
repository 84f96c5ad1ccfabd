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

# Header-only, fmt is compiled into every file and nobody has to install it; shared, files compile
# three times as fast, which is what the test presets want.
option(POLYPATH_SHARED_FMT "Link fmt's library instead of compiling its headers into every file" OFF)
add_library(polypath_fmt INTERFACE)
if(POLYPATH_SHARED_FMT)
  target_link_libraries(polypath_fmt INTERFACE fmt::fmt)
else()
  target_link_libraries(polypath_fmt INTERFACE fmt::fmt-header-only)
endif()

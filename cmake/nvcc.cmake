# The CUDA compiler, for kernels: on the PATH, of an installed toolkit, or of the PyPI packages that
# requirements/build.txt names. Sets POLYPATH_NVCC, empty if there is none; POLYPATH_CUDA_INCLUDE;
# and POLYPATH_NVCC_TARGETS: code for the GPUs that this compiler knows of 8.0, 9.0, 10.0 and 12.0,
# and PTX of the newest one for those that come later.
if(NOT POLYPATH_WITH_CUDA OR NOT POLYPATH_WITH_KERNELS)
  return()
endif()
find_package(Python3 COMPONENTS Interpreter QUIET)
set(prefixes ${PROJECT_SOURCE_DIR}/.venv)
if(Python3_EXECUTABLE)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.prefix)"
                  OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND prefixes ${prefix})
endif()
set(folders "")
foreach(prefix IN LISTS prefixes)
  file(GLOB found ${prefix}/lib/python3*/site-packages/nvidia/cu*/bin)
  list(APPEND folders ${found})
endforeach()
find_program(POLYPATH_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin
             PATHS /usr/local/cuda/bin ${folders} DOC "CUDA compiler, for kernels")
if(NOT POLYPATH_NVCC)
  message(STATUS "No nvcc: built without kernels (many small pieces are copied one by one). "
                 "Install CUDA, or `pip install -r requirements/build.txt`, to have them")
  set(POLYPATH_NVCC "")
  return()
endif()
get_filename_component(POLYPATH_CUDA_INCLUDE ${POLYPATH_NVCC}/../../include ABSOLUTE)
execute_process(COMMAND ${POLYPATH_NVCC} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
set(POLYPATH_NVCC_TARGETS "")
foreach(number IN ITEMS 80 90 100 120)
  if(known MATCHES "compute_${number}")
    list(APPEND POLYPATH_NVCC_TARGETS -gencode arch=compute_${number},code=sm_${number})
    set(newest ${number})
  endif()
endforeach()
list(APPEND POLYPATH_NVCC_TARGETS -gencode arch=compute_${newest},code=compute_${newest})

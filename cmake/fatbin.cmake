# cmake -DNVCC=... -DFLAGS=... -DSOURCE=... -DOUTPUT=... -DDEPFILE=... -DROOT=... -P fatbin.cmake
#
# Compiles the kernels of SOURCE into OUTPUT, unless that was done before: results are kept in
# $XDG_CACHE_HOME/polypath/kernels, named by all that the compiler reads of the project, its flags and its version.
# ccache does not know how to make fatbins.
execute_process(COMMAND ${NVCC} -MM ${FLAGS} ${SOURCE} OUTPUT_VARIABLE rule COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "^[^:]*:" "" read "${rule}")
string(REGEX REPLACE "[\\\n ]+" " " read "${read}")
string(STRIP "${read}" prerequisites)
string(REPLACE " " ";" read "${prerequisites}")
file(WRITE ${DEPFILE} "${OUTPUT}: ${prerequisites}\n")

execute_process(COMMAND ${NVCC} --version OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "${ROOT}" "" flags "${FLAGS}")
string(APPEND text "${flags}")
foreach(file IN LISTS read)
  file(SHA256 ${file} hash)
  string(APPEND text ";${hash}")
endforeach()
string(SHA256 key "${text}")
set(cache "$ENV{XDG_CACHE_HOME}")
if(NOT cache)
  set(cache "$ENV{HOME}/.cache")
endif()
set(kept ${cache}/polypath/kernels/${key}.fatbin)
if(NOT EXISTS ${kept})
  execute_process(COMMAND ${NVCC} -fatbin ${FLAGS} -o ${OUTPUT} ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
  string(RANDOM LENGTH 12 mark)  # several builds may do this at once: only what is complete gets the name
  file(COPY_FILE ${OUTPUT} ${OUTPUT}.${mark})
  file(MAKE_DIRECTORY ${cache}/polypath/kernels)
  file(COPY ${OUTPUT}.${mark} DESTINATION ${cache}/polypath/kernels)
  file(REMOVE ${OUTPUT}.${mark})
  get_filename_component(name ${OUTPUT}.${mark} NAME)
  file(RENAME ${cache}/polypath/kernels/${name} ${kept})
endif()
file(COPY_FILE ${kept} ${OUTPUT})

# Writes OUTPUT, a C++ file with the VERSION and a hash of the FILES.
set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 revision "${hashes}")
string(SUBSTRING ${revision} 0 16 revision)
file(WRITE ${OUTPUT} "#include \"plan/planner_revision.h\"\n\nnamespace polypath::plan {\n\n"
     "const char* planner_revision() { return \"${VERSION}-${revision}\"; }\n\n"
     "}  // namespace polypath::plan\n")

#include "nccl/functions.h"

namespace polypath::nccl {

Functions functions_of(const std::function<void*(const char* name)>& find) {
  Functions found;
#define POLYPATH_FIND(name, ...) \
  found.name = reinterpret_cast<decltype(found.name)>(find("nccl" #name));
  POLYPATH_NCCL_COLLECTIVES(POLYPATH_FIND)
  POLYPATH_NCCL_COMMUNICATORS(POLYPATH_FIND)
  POLYPATH_NCCL_QUESTIONS(POLYPATH_FIND)
  POLYPATH_FIND(GetLastError)
#undef POLYPATH_FIND
  return found;
}

}  // namespace polypath::nccl

// IPC handles of memory.

#include "standin/state/ipc.h"

#include "standin/state/journal.h"

namespace polypath::standin {
namespace {

Address address_of(DevicePointer pointer) { return {static_cast<std::uintptr_t>(pointer)}; }

Result open(DevicePointer* where, const IpcHandle& handle, unsigned flags) {
  constexpr unsigned kLazyEnablePeerAccess = 1;
  constexpr const char* kName = "cuIpcOpenMemHandle";
  Address mapped;
  const Result result = enter(kName, [&](Process& process) {
    if (flags != kLazyEnablePeerAccess)
      refuse(kInvalidValue, "the flags are CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS and nothing else");
    if (where == nullptr) refuse(kInvalidValue, "the result has nowhere to go");
    mapped = import_memory(process, handle);
    store(where, mapped.value);
  });
  note_mapping(kName, mapped, result);
  return result;
}

}  // namespace
}  // namespace polypath::standin

using namespace polypath;
using namespace polypath::standin;

STANDIN_EXPORT Result cuIpcGetMemHandle(IpcHandle* where, DevicePointer pointer) {
  return enter("cuIpcGetMemHandle", [&](Process& process) {
    store(where, export_memory(process, address_of(pointer)));
  });
}

STANDIN_EXPORT Result cuIpcOpenMemHandle_v2(DevicePointer* where, IpcHandle handle,
                                            unsigned flags) {
  return open(where, handle, flags);
}

STANDIN_EXPORT Result cuIpcOpenMemHandle(DevicePointer* where, IpcHandle handle, unsigned flags) {
  return open(where, handle, flags);
}

STANDIN_EXPORT Result cuIpcCloseMemHandle(DevicePointer pointer) {
  constexpr const char* kName = "cuIpcCloseMemHandle";
  const Result result = enter_unlocked(kName, [&](Process& process) {
    under_lock(process,
               [&](Process& locked) { return finish_before_close(locked, address_of(pointer)); });
    under_lock(process, [&](Process& locked) { close_import(locked, address_of(pointer)); });
  });
  note_mapping(kName, address_of(pointer), result);
  return result;
}

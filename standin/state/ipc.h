#pragma once
// Device memory in other processes, through CUDA's opaque handles of 64 bytes.

#include "standin/state/process.h"

namespace polypath::standin {

/// The handle of the allocation that contains the address. Refuses (invalid value) what is not
/// device memory of this process.
IpcHandle export_memory(Process& process, Address address);

/// Maps another process's memory for the current context, at addresses of its own; the same
/// addresses again if this context has it open. Refuses a handle of this process (invalid context),
/// one whose memory is gone, or that is none (invalid value), and one of a GPU that the current one
/// cannot reach (peer access unsupported).
Address import_memory(Process& process, const IpcHandle& handle);

/// What has to be over before an import is undone: all that its context has queued.
Waiting finish_before_close(Process& process, Address base);
/// Undoes one import_memory; the mapping goes with the last one.
void close_import(Process& process, Address base);

}  // namespace polypath::standin

#pragma once
// Answers to programs that look the driver's functions up at run time, as the CUDA runtime does:
// our functions in place of the driver's, and the driver's for everything else.

#include <cstdint>

namespace polypath::preload {

/// True in a process that has libpolypath_preload.so before the driver: it sees every call of the
/// program's, the module for UCX only those of UCX.
bool is_preloaded();

/// Ours for the exported symbol `name`; null if it is not in our list.
void* our_function(const char* name);

/// Ours for the exported symbol `name`, if that is what `real` is in the driver; else `real`.
void* replacement_for_symbol(const char* name, void* real);

/// Whether the driver has no function of that symbol.
using Lacks = bool (*)(const char* symbol);

/// Ours for what cuGetProcAddress has answered with, if it is known to have the same form: the
/// function asked for is in our list, for this version and kind of default stream. Else `real`.
/// Forms that the driver lacks are none: an older driver has answered with an older form.
void* replacement_for_request(const char* name, int version, bool own_stream, void* real,
                              Lacks lacks);

/// True if dlsym is asked for a name that may have to be replaced. Costs a comparison of two
/// letters for nearly every name there is.
bool may_be_replaced(const char* name);

/// True for functions of our list that UCX looks up by name to patch their first bytes, and learns
/// so what is allocated and freed: it must find the driver's code.
bool is_patched(const char* name);
/// True if code at this address is UCX's, which patches.
bool patches_functions(const void* caller);

}  // namespace polypath::preload

#pragma once
// Memory that is known to be the host's without asking a driver, which takes a tenth of a
// microsecond and more.

namespace polypath {

/// True of what lies in the program's own data, in its heap below the break, or in the stack of the
/// thread that asks: there a driver maps nothing. False: it may be any memory.
bool is_plain_host_memory(const void* address);

}  // namespace polypath

#pragma once
// Locks on single bytes of a file, which need not be there. One belongs to the open file, not to
// the process: it ends when the last descriptor and mapping of that opening has gone, however the
// process ended. Locking never waits.

#include <cstddef>

namespace polypath {

/// False if another opening of the file holds it (errno is EAGAIN or EACCES), or it cannot be had.
bool lock_byte(int file, std::size_t byte);
void unlock_byte(int file, std::size_t byte);
/// Whether another opening holds it; true as well where that cannot be determined.
bool is_byte_locked(int file, std::size_t byte);

}  // namespace polypath

#include "core/byte_lock.h"

#include <fcntl.h>

namespace polypath {
namespace {

struct flock on(std::size_t byte, short kind) {
  struct flock asked {};
  asked.l_type = kind;
  asked.l_whence = SEEK_SET;
  asked.l_start = static_cast<off_t>(byte);
  asked.l_len = 1;
  return asked;
}

}  // namespace

bool lock_byte(int file, std::size_t byte) {
  struct flock asked = on(byte, F_WRLCK);
  return fcntl(file, F_OFD_SETLK, &asked) == 0;
}

void unlock_byte(int file, std::size_t byte) {
  struct flock asked = on(byte, F_UNLCK);
  fcntl(file, F_OFD_SETLK, &asked);
}

bool is_byte_locked(int file, std::size_t byte) {
  struct flock asked = on(byte, F_WRLCK);
  return fcntl(file, F_OFD_GETLK, &asked) != 0 || asked.l_type != F_UNLCK;
}

}  // namespace polypath

#include "core/file_server.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/signals.h"

namespace polypath {
namespace {

constexpr std::size_t kMostOfMessage = 128;  // the kernel takes 253 files at a time
// The server gives up first, so that a process that asks for nothing holds up no other one.
constexpr timeval kServersPatience{.tv_sec = 0, .tv_usec = 250'000};
constexpr timeval kClientsPatience{.tv_sec = 1, .tv_usec = 0};

struct SocketName {
  sockaddr_un address{};
  socklen_t size = 0;
};

// The leading zero makes it a name of the kernel's.
SocketName socket_name(const FileServerName& name) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "polypath-";
  for (const std::uint64_t part : name)
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(part >> shift) & 15];
  SocketName result;
  result.address.sun_family = AF_UNIX;
  std::memcpy(result.address.sun_path + 1, text.data(), text.size());
  result.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return result;
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Descriptor new_socket() { return Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

void limit_waits(const Descriptor& socket, const timeval& patience) {
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO})
    setsockopt(socket.get(), SOL_SOCKET, which, &patience, sizeof patience);
}

bool is_of_this_user(const Descriptor& socket) {
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 &&
         other.uid == geteuid();
}

// A byte with some files.
struct FileMessage {
  FileMessage() {
    header.msg_iov = &payload, header.msg_iovlen = 1;
    header.msg_control = control.data(), header.msg_controllen = control.size();
  }
  FileMessage(const FileMessage&) = delete;
  FileMessage& operator=(const FileMessage&) = delete;

  char byte = 0;
  iovec payload{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostOfMessage * sizeof(int))> control{};
  msghdr header{};
};

bool send_files(const Descriptor& socket, const Descriptor* files, std::size_t count) {
  FileMessage message;
  message.header.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(count * sizeof(int));
  for (std::size_t i = 0; i < count; ++i) {
    const int number = files[i].get();
    std::memcpy(CMSG_DATA(rights) + i * sizeof number, &number, sizeof number);
  }
  return sendmsg(socket.get(), &message.header, MSG_NOSIGNAL) == 1;
}

// Appends the files of one message; false at the end, or if not all of them could be opened here.
bool receive_files(const Descriptor& socket, std::vector<Descriptor>& files) {
  FileMessage message;
  if (recvmsg(socket.get(), &message.header, MSG_CMSG_CLOEXEC) != 1) return false;
  const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return false;
  const std::size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(rights) + i * sizeof number, sizeof number);
    files.emplace_back(number);
  }
  return (message.header.msg_flags & MSG_CTRUNC) == 0;
}

}  // namespace

FileServer::FileServer(Open open) : open_(std::move(open)), listener_(new_socket()) {
  const bool is_random =
      getrandom(name_.data(), sizeof name_, 0) == static_cast<ssize_t>(sizeof name_);
  const SocketName name = socket_name(name_);
  constexpr int kWaiting = 64;
  if (!is_random || bind(listener_.get(), plain(name.address), name.size) != 0 ||
      listen(listener_.get(), kWaiting) != 0)
    fail(ErrorCode::unsupported, with_reason("files cannot be handed to other processes"));
  const ThreadSignals signals;
  thread_ = std::thread([this] { serve(); });
}

// A connection more wakes the thread.
FileServer::~FileServer() {
  ends_ = true;
  (void)fetch_files(name_, 0, 1);
  thread_.join();
}

// The program may have closed the socket, and opened a file of its own under the number.
bool FileServer::is_own(int socket) const {
  const SocketName own = socket_name(name_);
  SocketName found;
  found.size = sizeof found.address;
  return getsockname(socket, reinterpret_cast<sockaddr*>(&found.address), &found.size) == 0 &&
         found.size == own.size && std::memcmp(&found.address, &own.address, own.size) == 0;
}

void FileServer::serve() {
  const int listener = listener_.get();
  while (!ends_ && is_own(listener)) {
    const Descriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.is_open()) answer(socket);
    else if (errno == EMFILE) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    else if (errno != EINTR && errno != ECONNABORTED) return;
  }
}

void FileServer::answer(const Descriptor& socket) const {
  limit_waits(socket, kServersPatience);
  std::uint64_t number = 0;
  if (!is_of_this_user(socket) || recv(socket.get(), &number, sizeof number, 0) != sizeof number)
    return;
  const std::vector<Descriptor> files = open_(number);
  for (std::size_t sent = 0; sent < files.size(); sent += kMostOfMessage)
    if (!send_files(socket, &files[sent], std::min(files.size() - sent, kMostOfMessage))) return;
}

std::vector<Descriptor> fetch_files(const FileServerName& server, std::uint64_t number,
                                    std::size_t count) {
  const Descriptor socket = new_socket();
  const SocketName name = socket_name(server);
  limit_waits(socket, kClientsPatience);
  if (connect(socket.get(), plain(name.address), name.size) != 0 || !is_of_this_user(socket))
    return {};
  if (send(socket.get(), &number, sizeof number, MSG_NOSIGNAL) != sizeof number) return {};
  std::vector<Descriptor> files;
  while (files.size() < count && receive_files(socket, files)) {
  }
  if (files.size() != count) files.clear();
  return files;
}

}  // namespace polypath

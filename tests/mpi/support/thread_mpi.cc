#include "mpi/support/thread_mpi.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "support/layers.h"

namespace polypath::test {
namespace {

using mpi::Handle;
using mpi::Result;
using Route = std::tuple<int, int, int>;  // from, to, tag

constexpr Result kRefused = 17;
constexpr std::size_t kPage = 4096;
constexpr int kAnySource = -1;

thread_local int own_rank = 0;

struct SentMessage {
  std::vector<std::byte> bytes;
  Handle request = 0;
};

struct AwaitedMessage {
  void* memory = nullptr;
  Handle request = 0;
};

// What the functions, which are no members of anything, share.
struct Post {
  std::mutex mutex;
  std::map<Route, std::deque<SentMessage>> sent;
  std::map<Route, std::deque<AwaitedMessage>> awaited;
  std::set<Handle> open;
  Handle last = 0;
  bool holds = false;
  int refused = -1, freed = 0;

  void deliver(const Route& route) {
    auto& messages = sent[route];
    auto& places = awaited[route];
    for (; !messages.empty() && !places.empty(); messages.pop_front(), places.pop_front()) {
      std::memcpy(places.front().memory, messages.front().bytes.data(),
                  messages.front().bytes.size());
      open.erase(messages.front().request), open.erase(places.front().request);
    }
  }
};

Post* post = nullptr;

Result send(const void* memory, int count, Handle, int to, int tag, Handle, void* request) {
  const std::scoped_lock lock(post->mutex);
  if (to == post->refused) return kRefused;
  const auto* const first = static_cast<const std::byte*>(memory);
  const Route route{own_rank, to, tag};
  post->sent[route].push_back({{first, first + count}, ++post->last});
  if (post->holds && static_cast<std::size_t>(count) > kPage) post->open.insert(post->last);
  *static_cast<Handle*>(request) = post->last;
  post->deliver(route);
  return mpi::kSuccess;
}

Result receive(void* memory, int, Handle, int from, int tag, Handle, void* request) {
  const std::scoped_lock lock(post->mutex);
  if (from == post->refused) return kRefused;
  const Route route{from, own_rank, tag};
  post->awaited[route].push_back({memory, ++post->last});
  post->open.insert(post->last);
  *static_cast<Handle*>(request) = post->last;
  post->deliver(route);
  return mpi::kSuccess;
}

Result test_request(void* request, int* flag, void*) {
  const std::scoped_lock lock(post->mutex);
  *flag = post->open.contains(*static_cast<Handle*>(request)) ? 0 : 1;
  return mpi::kSuccess;
}

// The mutex is held. The first message with a tag for this rank, of any other one.
std::deque<SentMessage>* find_sent(int tag) {
  for (auto& [route, messages] : post->sent)
    if (std::get<1>(route) == own_rank && std::get<2>(route) == tag && !messages.empty())
      return &messages;
  return nullptr;
}

Result probe(int, int tag, Handle, int* flag, void*) {
  const std::scoped_lock lock(post->mutex);
  *flag = find_sent(tag) == nullptr ? 0 : 1;
  return mpi::kSuccess;
}

Result receive_any(void* memory, int, Handle, int, int tag, Handle, void*) {
  const std::scoped_lock lock(post->mutex);
  auto* const messages = find_sent(tag);
  if (messages == nullptr) return kRefused;
  std::memcpy(memory, messages->front().bytes.data(), messages->front().bytes.size());
  messages->pop_front();
  return mpi::kSuccess;
}

Result free_communicator(Handle*) {
  const std::scoped_lock lock(post->mutex);
  ++post->freed;
  return mpi::kSuccess;
}

}  // namespace

ThreadMpi::ThreadMpi() {
  post = new Post;
  library_.any_source = kAnySource;
  library_.real.Isend = send, library_.real.Irecv = receive, library_.real.Test = test_request;
  library_.real.Iprobe = probe, library_.real.Recv = receive_any;
  library_.real.Comm_free = free_communicator;
}

ThreadMpi::~ThreadMpi() {
  delete post;
  post = nullptr;
}

void ThreadMpi::be(int rank) { own_rank = rank; }

void ThreadMpi::hold_large_sends() { post->holds = true; }

void ThreadMpi::refuse(int rank) { post->refused = rank; }

int ThreadMpi::freed() { return post->freed; }

}  // namespace polypath::test

#include "mpi/persistent.h"

#include <utility>

namespace polypath::mpi {

/// An empty message of this rank to itself.
class PersistentCalls::Empty : public ProgramRequest {
 public:
  Empty(const Library& library, Handle self, int tag) : library_(library), self_(self), tag_(tag) {}
  Result complete(Result result) override {
    library_.real.Send(nullptr, 0, library_.byte, 0, tag_, self_);
    return result;
  }

 private:
  const Library& library_;
  Handle self_;
  int tag_;
};

struct PersistentCalls::Made {
  NonblockingCall call;
  int tag = 0;
  /// Of a call of ours.
  Arena* arena = nullptr;
  int block = -1, ranks = 0;
  std::unique_ptr<Announcements> announcements;
  /// Of a call of MPI's.
  Handle inner = 0;

  ~Made() {
    if (arena != nullptr) arena->leave(block, ranks);
  }
};

PersistentCalls::PersistentCalls(const Library& library, const Open& open, GpuOf gpu_of,
                                 NonblockingCalls& nonblocking)
    : library_(library), open_(open), gpu_of_(gpu_of), nonblocking_(nonblocking) {}

PersistentCalls::~PersistentCalls() = default;

// The program's own is not used: its messages are the program's.
bool PersistentCalls::has_self() {
  if (self_ == 0 && library_.real.Comm_dup(library_.self, &self_) != kSuccess) self_ = 0;
  return self_ != 0;
}

Result PersistentCalls::keep(std::unique_ptr<Made> made, void* request) {
  constexpr int kTags = 32000;  // every MPI has as many
  const std::scoped_lock lock(mutex_);
  if (!has_self()) return library_.other_error;
  made->tag = next_tag_++ % kTags;
  const Result result = library_.real.Recv_init(nullptr, 0, library_.byte, 0, made->tag,
                                                library_.handle(self_), request);
  if (result == kSuccess) made_[library_.handle_at(request, 0)] = std::move(made);
  return result;
}

bool PersistentCalls::make_ours(Arena& arena, Member& member, Seat seat, const Call& call, int gpu,
                                void* request) {
  std::int64_t block = seat.rank == 0 ? arena.take() : -1;
  library_.real.Bcast(&block, sizeof block, library_.byte, 0, call.comm);
  if (block < 0) return false;
  auto made = std::make_unique<Made>();
  made->arena = &arena;
  made->block = static_cast<int>(block);
  made->ranks = seat.size;
  made->announcements =
      std::make_unique<Announcements>(arena, arena.block(made->block), seat.rank, seat.size);
  made->call = {.call = call,
                .start = {},
                .member = &member,
                .buffers = gpu >= 0 ? Buffers::ours : Buffers::none,
                .gpu = gpu,
                .announcements = made->announcements.get()};
  return keep(std::move(made), request) == kSuccess;
}

Result PersistentCalls::make_staged(const Call& call, int gpu, Fate fate, const RealStart& start,
                                    void* request) {
  auto made = std::make_unique<Made>();
  auto copies = std::make_shared<HostCopies>(library_, open_(GpusOf::process), call, gpu_of_);
  const Result result = start(call.comm, copies->send(), copies->receive(), &made->inner);
  if (result != kSuccess) return result;
  const auto start_inner = [this, &inner = made->inner](Handle, const void*, void*, void* place) {
    const Result started = library_.real.Start(&inner);
    *static_cast<Handle*>(place) = inner;
    return started;
  };
  made->call = {.call = call, .start = start_inner, .gpu = gpu, .fate = fate, .copies = copies};
  return keep(std::move(made), request);
}

bool PersistentCalls::start(void* request) {
  const std::scoped_lock lock(mutex_);
  const auto found = made_.find(library_.handle_at(request, 0));
  if (found == made_.end()) return false;
  library_.real.Start(request);
  nonblocking_.begin(found->second->call,
                     std::make_unique<Empty>(library_, library_.handle(self_), found->second->tag));
  return true;
}

void PersistentCalls::forget(Handle request) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = made_.find(request);
  if (found == made_.end()) return;
  if (found->second->inner != 0) library_.real.Request_free(&found->second->inner);
  made_.erase(found);
}

void PersistentCalls::forget(const Member& member) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(made_, [&](const auto& each) { return each.second->call.member == &member; });
}

}  // namespace polypath::mpi

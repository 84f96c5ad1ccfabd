#include "mpi/calls_aside.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "mpi/kept_request.h"

namespace polypath::mpi {
namespace {

// Other ranks take as long as they like to come: the longer, the less often they are looked for.
class Patience {
 public:
  void pause() {
    constexpr int kQuickPauses = 100;
    constexpr std::chrono::microseconds kLeast{10}, kMost{100};
    if (pauses_++ < kQuickPauses) sched_yield();
    else std::this_thread::sleep_for(std::min(kLeast * (pauses_ / kQuickPauses), kMost));
  }

 private:
  int pauses_ = 0;
};

bool passes_at_once(const Aside& aside, Buffers mine) {
  if (is_asked(mine) || !aside.is_idle()) return false;
  InternodeMember& nodes = *aside.member().internode();
  return aside.member().is_out() || nodes.failure() || nodes.ballot().pass_at_once(mine);
}

}  // namespace

/// What it is over with is its request's.
struct CallsAside::Queued {
  Queued(Aside& where, std::atomic<int>& count) : aside(where), guest(where), counted(count) {
    ++counted;
  }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;
  ~Queued();

  Aside& aside;
  std::optional<Aside::Guest> guest;
  std::atomic<int>& counted;
  Call call = {};
  RealStart start = {};
  std::unique_ptr<Mark> mark = {};
  std::unique_ptr<KeptRequest> request = {};
  Result result = kSuccess;
};

// A program that has the result may free the communicator.
CallsAside::Queued::~Queued() {
  mark.reset();
  guest.reset();
  if (request != nullptr) (void)request->complete(result);
  --counted;
}

Result CallsAside::begin(Aside& aside, Call call, RealStart start, void* request) {
  call.comm = aside.comm();
  const Passed mine = blocking_.passed(call, &aside.member());
  if (passes_at_once(aside, mine.buffers)) {
    if (mine.gpu < 0) return start(call.comm, call.send.memory, call.receive.memory, request);
    return nonblocking_.begin(
        {.call = call, .start = std::move(start), .gpu = mine.gpu, .fate = mine.fate}, request);
  }
  auto queued = std::make_shared<Queued>(aside, count_);
  Result result = kSuccess;
  auto kept = std::make_unique<KeptRequest>(library_, request, result);
  if (result != kSuccess) return result;
  queued->call = call;
  queued->start = std::move(start);
  queued->mark = std::make_unique<Mark>(aside.member());
  queued->request = std::move(kept);
  queued->result = library_.other_error;  // until it is made
  aside.post([this, queued] { make(*queued); });
  return kSuccess;
}

void CallsAside::make(Queued& queued) {
  const auto in_mpi = [&](const void* send, void* receive) {
    return make_in_mpi(queued, send, receive);
  };
  const auto wait = [&, patience = Patience()]() mutable {
    turns_.go_on();
    if (queued.aside.is_ending())
      throw Error(ErrorCode::communicator, "MPI ends before the call is over.");
    patience.pause();
  };
  try {
    queued.result =
        blocking_.make(queued.call, &queued.aside.member(), in_mpi, wait, std::move(queued.mark));
  } catch (const std::exception& problem) {
    log(LogLevel::error,
        fmt::format("MPI i{}: {}", name_of(queued.call.operation), problem.what()));
  }
}

// By the function that does not block, at all ranks: others may have begun it so.
Result CallsAside::make_in_mpi(const Queued& queued, const void* send, void* receive) const {
  Handle request = 0;
  Result result = queued.start(queued.call.comm, send, receive, &request);
  int is_over = 0;
  for (Patience patience; result == kSuccess && is_over == 0; patience.pause())
    result = library_.real.Test(&request, &is_over, library_.status_ignore);
  return result;
}

}  // namespace polypath::mpi

#pragma once
// The real library between nodes: a communicator of its own for the ranks that have one number in
// their nodes. The program's own sends and receives never meet ours there.

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "collective/internode/piece_exchange.h"
#include "communicator/bootstrap/nodes.h"
#include "nccl/functions.h"

namespace polypath::nccl {

/// Messages are work of the stream. Thread-safe, but for start().
class Rail final : public PieceExchange {
 public:
  using Native = std::function<Stream(StreamHandle)>;

  /// Divides the program's communicator; all ranks do at the same time. `real` must outlive it.
  /// Error (unsupported) if the real library does not do it.
  Rail(const Functions& real, Comm program, const Nodes& nodes, int rank, Native native);
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;
  /// As leave().
  ~Rail() override { leave(); }

  /// Errors: communicator after an abort; internal if the real library fails.
  void start(int slot, const NodeMessages& messages, StreamHandle stream) override;
  void finish(int, StreamHandle) override {}
  [[nodiscard]] bool is_in_stream() const override { return true; }

  /// What the real library says has gone wrong; none if nothing has, or a call is in progress.
  [[nodiscard]] std::optional<std::string> problem();
  /// Ends queued work. It sends nothing any more.
  void abort() noexcept;
  /// Ends it after its work.
  void leave() noexcept;

 private:
  [[nodiscard]] Result exchange(const NodeMessages& messages, StreamHandle stream);

  const Functions& real_;
  Nodes nodes_;
  Native native_;
  std::timed_mutex mutex_;  ///< of calls of the real library
  std::atomic<Comm> comm_ = nullptr;
};

}  // namespace polypath::nccl

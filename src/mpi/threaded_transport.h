#pragma once
// Messages by the MPI of a program that has asked for MPI_THREAD_MULTIPLE: every thread may call
// it, so messages move while the program computes.
//
// A thread that finds another one in MPI leaves the messages to it, and waits for nothing. Once MPI
// is about to end, all calls of it are over and none begins.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "communicator/transport/transport.h"
#include "mpi/library.h"
#include "mpi/mpi_transport.h"

namespace polypath::mpi {

/// Whether MPI may be called: until it is about to end. One for all transports of a process.
class MpiLife {
 public:
  /// Waits for calls of MPI that are under way. There are no others afterwards.
  void end();
  /// False without a call: MPI is about to end, or another thread calls it for messages.
  template <class Action>
  bool attempt(Action action) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || has_ended_) return false;
    action();
    return true;
  }
  [[nodiscard]] bool has_ended();

 private:
  std::mutex mutex_;  ///< held while MPI is called
  bool has_ended_ = false;
};

/// One rank's end.
class ThreadedTransport final : public Transport {
 public:
  /// The communicator has these ranks and no other messages, and returns errors. It is freed when
  /// this rank has ended well.
  ThreadedTransport(Library library, Handle comm, int rank, int size,
                    std::shared_ptr<MpiLife> life);
  /// The others are told that this rank ends, if it has not ended well.
  ~ThreadedTransport() override;

  void name_nodes(const Nodes& nodes) override;
  bool test(MessageNumber message) override;
  void abort(const std::string& why, ErrorCode code) override;
  void finish() override { is_finished_ = true; }
  std::optional<Error> failure() override;
  bool is_busy() override;

 private:
  MessageNumber start_sending(int to, std::uint32_t tag, std::span<const std::byte> bytes) override;
  MessageNumber start_receiving(int from, std::uint32_t tag, std::span<std::byte> bytes) override;
  void pause() override { progress(); }
  std::string awaited(MessageNumber message) override { return messages_.awaited(message); }

  void progress();
  void tell_others() noexcept;

  Library library_;
  Handle comm_;
  std::shared_ptr<MpiLife> life_;
  MpiTransport messages_;
  std::atomic<bool> is_finished_ = false, is_aborted_ = false;
};

}  // namespace polypath::mpi

#pragma once
// An MPI whose ranks are threads: messages between two ranks, by tag and in their order.

#include "mpi/library.h"

namespace polypath::test {

/// Its functions for messages. One at a time; threads say first which rank they are.
class ThreadMpi {
 public:
  ThreadMpi();
  ThreadMpi(const ThreadMpi&) = delete;
  ThreadMpi& operator=(const ThreadMpi&) = delete;
  ~ThreadMpi();

  [[nodiscard]] const mpi::Library& library() const { return library_; }
  /// The calling thread is this rank.
  static void be(int rank);
  /// No send of more than a page is over until it is received, as of any real MPI.
  static void hold_large_sends();
  /// Messages to and from this rank are refused.
  static void refuse(int rank);
  /// How many communicators were freed.
  [[nodiscard]] static int freed();

 private:
  mpi::Library library_;
};

}  // namespace polypath::test
